"""Measure how well turns of sessions are read for work, by kind.

The labelled turns are in four groups: those that the rules were tuned on (own writing, and public data), those that
were written before there were rules, turns of public data that were labelled after the rules were done, and
independent ones, whose writer had not seen the rules. A row of public data names the file, the message and a digest
of its text; the data itself is not part of Memex.
"""

import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from memex.errors import ValidationFailed
from memex.evals.work.packs import PackMeasure, measure_packs, told_sessions, written_sessions
from memex.evals.work.writers import LabelledTurn, Span
from memex.sources.conversations.places import survey
from memex.sources.conversations.reading import read
from memex.sources.conversations.records import Include, ReadMessage, ReadReport
from memex.subagent.work.turns import SessionTurn, observe

MEASURED = ("decision", "pending", "done", "blocker", "objective")
WANTED_PRECISION, WANTED_RECALL = 0.9, 0.75  # of the packs of independent sessions
GROUPS = {
    "own": "tuned",
    "public": "tuned",
    "held_out": "written before the rules",
    "unseen": "not seen before",
    "independent": "independent",
}


@dataclass(frozen=True, slots=True)
class WorkMeasure:
    """Counts of a kind in a group of turns; shares are None where they would be of nothing."""

    group: str
    kind: str
    labelled: int
    found: int
    right: int

    @property
    def precision(self) -> float | None:
        """The share of what was found that is labelled so."""
        return self.right / self.found if self.found else None

    @property
    def recall(self) -> float | None:
        """The share of what is labelled that was found."""
        return self.right / self.labelled if self.labelled else None


@dataclass(frozen=True, slots=True)
class WorkRun:
    """The measures of all groups and of all turns together, and those of packs by whose sessions they are of."""

    turns: dict[str, int]  # by group
    measures: list[WorkMeasure]
    packs: dict[str, PackMeasure]

    @property
    def is_good_enough(self) -> bool:
        """Return whether the packs of independent sessions say what they should."""
        pack = self.packs["independent"]
        return pack.precision >= WANTED_PRECISION and pack.recall >= WANTED_RECALL


def run(root: Path | None) -> WorkRun:
    """Measure on all labelled turns; without a folder of data, on those that are part of Memex."""
    turns = list(labelled_turns(root))
    right, found, labelled = (
        Counter[tuple[str, str]](),
        Counter[tuple[str, str]](),
        Counter[tuple[str, str]](),
    )
    for turn in turns:
        compared = compare(turn.role, turn.text, turn.spans)
        for group in (turn.group, "all"):
            for kind in MEASURED:
                right[group, kind] += compared[kind][0]
                found[group, kind] += compared[kind][1]
                labelled[group, kind] += compared[kind][2]
    groups = [*dict.fromkeys(turn.group for turn in turns), "all"]
    measures = [
        WorkMeasure(group, kind, labelled[group, kind], found[group, kind], right[group, kind])
        for group in groups
        for kind in MEASURED
    ]
    packs = {
        "independent": measure_packs(told_sessions(turn for turn in turns if turn.session)),
        "writers": measure_packs(written_sessions()),
    }
    return WorkRun(dict(Counter(turn.group for turn in turns)), measures, packs)


def labelled_turns(root: Path | None) -> Iterator[LabelledTurn]:
    """Yield the labelled turns.

    Raises:
        ValidationFailed: a message of the data is not the one that was labelled.
    """
    texts: dict[str, dict[str, str]] = {}
    for name, group in GROUPS.items():
        for row in _rows(name):
            if "file" not in row:
                text = row["text"]
                yield LabelledTurn(
                    row["id"],
                    group,
                    row["role"],
                    text,
                    tuple(_spans(text, row["kinds"])),
                    row.get("session", ""),
                )
            elif root is not None:
                if row["file"] not in texts:
                    texts[row["file"]] = _texts(root / row["file"])
                text = texts[row["file"]].get(row["key"], "")
                if hashlib.sha256(text.encode()).hexdigest()[:16] != row["sha256"]:
                    raise ValidationFailed(
                        f"{row['file']} has no message {row['key']} of the text that was labelled."
                    )
                spans = [(kind, start, end) for kind, start, end in row["kinds"]]
                yield LabelledTurn(f"{row['file']} {row['key']}", group, row["role"], text, tuple(spans))


def compare(
    role: str,
    text: str,
    spans: Sequence[Span],
    kinds: Sequence[str] = MEASURED,
) -> dict[str, tuple[int, int, int]]:
    """Return for each kind how many found spans are right, how many were found, and how many are labelled.

    A found span is right if it overlaps a labelled one of its kind; of several that overlap the same, one counts.
    """
    left = list(spans)
    counted = {kind: (0, 0, sum(span[0] == kind for span in spans)) for kind in kinds}
    for found_span in observe(SessionTurn(role, text, human_authored=role == "user")):
        if found_span.kind not in counted:
            continue
        overlapping = [
            span
            for span in spans
            if span[0] == found_span.kind and span[1] < found_span.end and found_span.start < span[2]
        ]
        hit = next((span for span in overlapping if span in left), None)
        right, found, labelled = counted[found_span.kind]
        if hit is not None:
            left.remove(hit)
            counted[found_span.kind] = right + 1, found + 1, labelled
        elif not overlapping:
            counted[found_span.kind] = right, found + 1, labelled
    return counted


def _spans(text: str, kinds: Sequence[tuple[str, str]]) -> Iterator[Span]:
    for kind, said in kinds:
        start = text.index(said)
        yield kind, start, start + len(said)


def _rows(name: str) -> list[dict[str, Any]]:
    text = (files("memex.evals.work") / "turns" / f"{name}.yaml").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = yaml.safe_load(text)
    return rows


def _texts(path: Path) -> dict[str, str]:
    """Return the texts of the messages in a file of the data, by their keys."""
    if path.name.endswith(".json.gz"):
        with gzip.open(path, "rt", encoding="utf-8") as chat:
            return {str(message["id"]): message["content"] for message in json.load(chat)["messages"]}
    return {message.key: message.text for message in _messages(path)}


def _messages(path: Path) -> Iterator[ReadMessage]:
    with survey([path]) as found:
        for item in found.found:
            for conversation in read(item, Include(), ReadReport()):
                yield from (message for message in conversation.messages if message.part == "message")
