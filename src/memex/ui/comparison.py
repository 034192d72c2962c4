"""Two texts side by side: a unified diff as lines of a page, with the words that differ marked. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from typing import Literal

from memex.ui.highlighting import TextPart

LineKind = Literal["same", "added", "removed", "hunk", "note"]
MAX_MARKED_CHARS = 2_000  # of a line: words of longer ones are not compared
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_KINDS: dict[str, LineKind] = {" ": "same", "+": "added", "-": "removed"}


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a diff, with its numbers in the older and in the newer text."""

    kind: LineKind
    parts: tuple[TextPart, ...]
    old_number: int | None = None
    new_number: int | None = None


def diff_lines(unified: str) -> list[DiffLine]:
    """Return the lines of a unified diff without its two lines of names."""
    found: list[DiffLine] = []
    old = new = 0
    for line in unified.split("\n")[2:]:
        if hunk := _HUNK.match(line):
            old, new = int(hunk[1]), int(hunk[3])
            found.append(DiffLine("hunk", (TextPart(f"Line {new}"),)))
        elif line.startswith("\\"):
            found.append(DiffLine("note", (TextPart("No line break at the end"),)))
        elif line:
            kind = _KINDS[line[0]]
            found.append(
                DiffLine(
                    kind,
                    (TextPart(line[1:].rstrip("\r")),),
                    old if kind != "added" else None,
                    new if kind != "removed" else None,
                )
            )
            old += kind != "added"
            new += kind != "removed"
    return list(_marked(found))


def _marked(lines: Sequence[DiffLine]) -> Iterator[DiffLine]:
    """Yield the lines; where as many lines were removed as added, each pair has its words marked."""
    removed: list[DiffLine] = []
    for kind, group in groupby(lines, lambda line: line.kind):
        found = list(group)
        if kind == "removed":
            removed = found
            continue
        if kind == "added" and len(removed) == len(found):
            pairs = [_mark_pair(old, new) for old, new in zip(removed, found, strict=True)]
            removed, found = [old for old, _ in pairs], [new for _, new in pairs]
        yield from (*removed, *found)
        removed = []
    yield from removed


def _mark_pair(old: DiffLine, new: DiffLine) -> tuple[DiffLine, DiffLine]:
    texts = old.parts[0].text, new.parts[0].text
    if max(map(len, texts)) > MAX_MARKED_CHARS:
        return old, new
    words: list[list[str]] = [_WORDS.findall(text) for text in texts]
    matcher = SequenceMatcher(None, words[0], words[1], autojunk=False)
    if matcher.ratio() < 0.3:  # two lines that have little in common are easier to read unmarked
        return old, new
    parts: tuple[list[TextPart], list[TextPart]] = ([], [])
    for kind, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        for side, (start, end) in enumerate(((old_start, old_end), (new_start, new_end))):
            if text := "".join(words[side][start:end]):
                parts[side].append(TextPart(text, kind != "equal"))
    return (
        DiffLine(old.kind, tuple(parts[0]), old.old_number, None),
        DiffLine(new.kind, tuple(parts[1]), None, new.new_number),
    )
