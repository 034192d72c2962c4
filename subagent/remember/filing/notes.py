"""Notes that hold a document each: the text of a note, its next version, and how alike two documents are. Pure."""

import datetime
import json
import re
from collections import Counter

# A note with the same title is an earlier version if it shares so much of its lines.
SAME_DOCUMENT = 0.5

_FRONT_MATTER = re.compile(r"\A---\n(?:.{0,500}\n){0,60}?---\n+")


def revise_note(title: str, text: str, day: datetime.date, content: str | None) -> str:
    """Return a note with the text of a document; unchanged where it holds the text already.

    A note that turned into another document since it was planned is kept, with this one below it.

    Args:
        title: of the document.
        text: the document.
        day: on which it was said.
        content: the note as it is; None for a new one.
    """
    if content is None or not content.strip():
        return _render(title, text, day)
    if text in content:
        return content
    if is_version(content, text):
        return _render(title, text, day)
    return f"{content.rstrip()}\n\n{text}"


def is_version(note: str, text: str) -> bool:
    """Whether a note holds an earlier version of a document."""
    return similarity(_FRONT_MATTER.sub("", note, count=1), text) >= SAME_DOCUMENT


def _render(title: str, text: str, day: datetime.date) -> str:
    if text.startswith("---\n"):
        return text
    quoted = json.dumps(title, ensure_ascii=False)
    return f"---\ntitle: {quoted}\ndate: {day.isoformat()}\n---\n\n{text}"


def similarity(one: str, other: str) -> float:
    """Return which share of their lines two texts have in common, 0 to 1."""
    mine, theirs = _lines(one), _lines(other)
    total = mine.total() + theirs.total()
    return 2 * (mine & theirs).total() / total if total else 1.0


def _lines(text: str) -> Counter[str]:
    lines = (" ".join(line.split()) for line in text.splitlines())
    return Counter(line for line in lines if line and not line.startswith("#"))
