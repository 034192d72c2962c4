"""Measure packs: what a pack says of a session, beside what the session's turns are labelled with.

A session is the turns of an invented session, or a run of `TURNS` turns of a writer. Its pack is made as the
service makes it, by labels and cues, from nothing but the turns.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby

from memex.evals.work.writers import LabelledTurn, Span, load_written_turns
from memex.store.work.records import UnderivedMessage
from memex.subagent.work.deriving import derive
from memex.subagent.work.records import Observation
from memex.subagent.work.resuming.pack import build_pack
from memex.subagent.work.state import fold

TURNS = 12  # of a writer, that count as one session
WANTED = ("objective", "decision", "constraint", "pending", "blocker", "definition_of_done")
HEADINGS: Mapping[str, tuple[str, ...]] = {
    "Objective": ("objective", "user_request"),
    "Open work": ("pending", "blocker"),
    "Blockers": ("blocker", "pending"),
    "Not met yet of the definition of done": ("definition_of_done", "constraint"),
    "Constraints": ("constraint", "definition_of_done"),
    "Decisions": ("decision", "constraint"),
}
_START = datetime(2026, 3, 2, 9, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class WrittenSession:
    """A session: role, text and labels of each turn."""

    name: str
    turns: tuple[tuple[str, str, tuple[Span, ...]], ...]


@dataclass(frozen=True, slots=True)
class PackMeasure:
    """Counts of the lines of packs that say what a label says, by heading, and of labels in packs, by kind."""

    lines: Mapping[str, int]
    right: Mapping[str, int]
    labelled: Mapping[str, int]
    found: Mapping[str, int]

    @property
    def precision(self) -> float:
        """The share of the lines that are labelled as their heading says."""
        return sum(self.right.values()) / max(1, sum(self.lines.values()))

    @property
    def recall(self) -> float:
        """The share of what is labelled that stands in the pack of its session, under whatever heading."""
        return sum(self.found.values()) / max(1, sum(self.labelled.values()))


def measure_packs(sessions: Iterable[WrittenSession]) -> PackMeasure:
    """Return how well the packs of sessions say what stands."""
    lines, right, labelled, found = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for session in sessions:
        observations = observations_of(session)
        pack = build_pack(fold(observations), scope=session.name, budget="full")
        labels = [
            (number, kind, " ".join(text[start:end].split()))
            for number, (_, text, spans) in enumerate(session.turns, start=1)
            for kind, start, end in spans
        ]
        for line in pack.lines:
            if (kinds := HEADINGS.get(line.heading)) is None:
                continue
            lines[line.heading] += 1
            number = int(line.reference.rpartition("#")[2])
            said = [text for place, kind, text in labels if place == number and kind in kinds]
            right[line.heading] += any(text in line.text or line.text in text for text in said)
        for number, kind, text in labels:
            if kind in WANTED:
                labelled[kind] += 1
                told = [line.text for line in pack.lines if line.reference.endswith(f"#{number}")]
                found[kind] += any(text in line or line in text for line in told)
    return PackMeasure(lines, right, labelled, found)


def observations_of(session: WrittenSession) -> list[Observation]:
    """Return what a session says about work, as the service reads it."""
    messages = [
        UnderivedMessage(1, number, number, role, "message", None, text, role == "user", True, True)
        for number, (role, text, _) in enumerate(session.turns, start=1)
    ]
    texts = {message.number: message.text for message in messages}
    return [
        Observation(
            observation.kind,  # type: ignore[arg-type]
            " ".join(texts[observation.number][observation.start_char : observation.end_char].split()),
            "human" if observation.by_human else "agent",
            observation.is_firm,
            observation.confidence,
            _START + timedelta(minutes=observation.number),
            session.name,
            observation.number,
            observation.start_char,
            observation.end_char,
            observation.number,
        )
        for observation in derive(messages)
    ]


def written_sessions() -> Iterator[WrittenSession]:
    """Yield the runs of turns of the writers."""
    for writer, own in groupby(load_written_turns(), key=lambda turn: turn.writer):
        turns = [(turn.role, turn.text, turn.spans) for turn in own]
        for place in range(0, len(turns), TURNS):
            yield WrittenSession(f"{writer}{place}", tuple(turns[place : place + TURNS]))


def told_sessions(turns: Iterable[LabelledTurn]) -> Iterator[WrittenSession]:
    """Yield the sessions of labelled turns."""
    for name, own in groupby(turns, key=lambda turn: turn.session):
        yield WrittenSession(name, tuple((turn.role, turn.text, turn.spans) for turn in own))
