"""The words of Memex itself, sent back: contexts in their wrapper, and lines of pages with their stamps.

It is no word of the teller's: `memory_remember` keeps none of it, conversations are captured without it, and
distilling makes no statement of it.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator

from memex.store.records import Span
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.remember.file_series import nth_file
from memex.subagent.statements.bullets import stamped_day
from memex.subagent.statements.language import STATEMENT_KINDS
from memex.subagent.statements.places import destination

MAX_FILES = 50  # of each series of pages

_TAG = re.compile(
    r"<(/?)memory-([0-9a-f]{16}|[0-9a-v]{4})>"
)  # of the contexts of earlier versions, and of ours
_NOT_BLANK = re.compile(r"\S")
_LINE = re.compile(r"[^\r\n]+")
_MARKER = re.compile(r"\A\s*(?:>\s*)*[-*+]\s+")


def recalled_spans(text: str, lines: Collection[str] = ()) -> list[Span]:
    """Return where a text repeats what Memex said, in order and disjoint.

    Args:
        text: any text.
        lines: lines of pages, as `line_of` gives them.
    """
    found = list(_wrapped(text))
    for start, end in _stamped(text) if lines else ():
        if line_of(text[start:end]) in lines and not any(a <= start < b for a, b in found):
            found.append((start, end))
    return sorted(found)


def without_recalled(text: str, lines: Collection[str] = ()) -> str:
    """Return a text with blanks in the place of what Memex said; see `recalled_spans`."""
    return without_spans(text, recalled_spans(text, lines))


def without_spans(text: str, spans: Iterable[Span]) -> str:
    """Return a text with spans blanked, so that the rest of it stays where it is."""
    for start, end in spans:
        text = text[:start] + _NOT_BLANK.sub(" ", text[start:end]) + text[end:]
    return text


def may_repeat_lines(text: str) -> bool:
    """Return whether a text has lines with a stamp, which may be lines of pages."""
    return next(_stamped(text), None) is not None


def line_of(line: str) -> str:
    """Return a line of a list without its marker: its words, its stamp and its links."""
    return _MARKER.sub("", line, count=1).strip()


def pages_of(project: str | None) -> list[str]:
    """Return the paths of the pages that hold statements: the user's own, and those of a project."""
    first = {destination(kind, slug).path for kind in STATEMENT_KINDS for slug in (project, None)}
    return [nth_file(path, number) for path in sorted(first) for number in range(1, MAX_FILES + 1)]


async def repeated_lines(texts: Iterable[str], project: str | None, tools: MemoryTools) -> frozenset[str]:
    """Return the lines that pages hold or held, if one of the texts may repeat them."""
    if not any(map(may_repeat_lines, texts)):
        return frozenset()
    return frozenset(line_of(line) for line, _ in await tools.removed_lines(pages_of(project)))


def _wrapped(text: str) -> Iterator[Span]:
    """Yield where contexts stand, from the opening tag of each to the closing tag of the same digits."""
    tags = list(_TAG.finditer(text))
    closing: dict[str, list[int]] = {}
    for tag in tags:
        if tag[1]:
            closing.setdefault(tag[2], []).append(tag.end())
    until = 0
    for tag in tags:
        ends = closing.get(tag[2], [])
        at = bisect_left(ends, tag.end())
        if not tag[1] and tag.start() >= until and at < len(ends):
            until = ends[at]
            yield tag.start(), until


def _stamped(text: str) -> Iterator[Span]:
    """Yield the lines that end with the stamp of a statement."""
    for line in _LINE.finditer(text):
        if "(" in line[0] and stamped_day(line[0]) is not None:
            yield line.span()
