"""Labelled turns by writers who had not seen the rules, from the files of `writers/`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from memex.errors import ValidationFailed

WRITERS = Path(str(files("memex.evals.work"))) / "writers"
KINDS = {
    "objective": "objective",
    "decision": "decision",
    "constraint": "constraint",
    "pending": "pending",
    "done": "done",
    "blocker": "blocker",
    "dod": "definition_of_done",
    "request": "user_request",
    "claim": "completion_claim",
}

Span = tuple[str, int, int]

_MARKED = re.compile(r"⟦([a-z]+):([^⟦⟧]*)⟧")


@dataclass(frozen=True, slots=True)
class LabelledTurn:
    """A turn with what stands in it: kinds with the spans that say them; independent ones have a session."""

    name: str
    group: str
    role: str
    text: str
    spans: tuple[Span, ...]
    session: str = ""


@dataclass(frozen=True, slots=True)
class WrittenTurn:
    """A turn that a writer wrote, without the marks, and what the marks say."""

    writer: str
    role: str
    text: str
    spans: tuple[Span, ...]


def load_written_turns(folder: Path = WRITERS) -> list[WrittenTurn]:
    """Return the turns of a folder, in the order of its files.

    Raises:
        ValidationFailed: a turn has no role, or a mark that is not known.
    """
    return [turn for path in sorted(folder.glob("*.txt")) for turn in _turns(path)]


def _turns(path: Path) -> Iterator[WrittenTurn]:
    writer = path.stem.rstrip("0123456789")
    for number, block in enumerate(path.read_text(encoding="utf-8").strip().split("\n---\n"), start=1):
        role, _, marked = block.strip("\n").partition("\n")
        if role not in {"user", "assistant"}:
            raise ValidationFailed(f"Turn {number} of {path.name} begins with no role: {role[:40]!r}.")
        text, spans, at = "", [], 0
        for mark in _MARKED.finditer(marked):
            if mark[1] not in KINDS:
                raise ValidationFailed(f"Turn {number} of {path.name} has the mark {mark[1]!r}.")
            text += marked[at : mark.start()]
            spans.append((KINDS[mark[1]], len(text), len(text) + len(mark[2])))
            text += mark[2]
            at = mark.end()
        text += marked[at:]
        if "⟦" in text or "⟧" in text:
            raise ValidationFailed(f"Turn {number} of {path.name} has a mark that does not end.")
        yield WrittenTurn(writer, role, text, tuple(spans))
