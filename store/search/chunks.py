"""A file as chunks, the unit of search: one heading section each, or a part of a long one. Pure."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from memex.store.entry_path import is_entry
from memex.store.markdown import Description, MarkdownDocument, file_name, parse

CHUNKER_VERSION = 4  # also of which words of a chunk are indexed, `words.data`
MAX_CHARS = 1200
MAX_HEADING_CHARS = 120

# Of title, tags and the like each: they are indexed with every chunk and must not outweigh its text.
_MAX_FIELD_CHARS = 300
_MAX_INDENT_CHARS = 32

_NO_MARKDOWN = MarkdownDocument({}, 0, (), (), (), None)
_JOINER = "\u200d"

_CONTENT = re.compile(r"\S")
_SPACE = re.compile(r"\s+")
_LINE_END = re.compile(r"\r\n?|\n")
# Tried only where a run of marks begins, so that a long run is read once.
_SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]++[)\]\"'”’*_]*+\s+|[。！？]+[」』）]*")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A span of a file; `indexed_text` is the fields of the file, one a line, and then the span's text."""

    start: int
    end: int
    heading_path: tuple[str, ...]
    indexed_text: str


def split(path: str, text: str, description: Description, document: MarkdownDocument) -> list[Chunk]:
    """Return the chunks of a file in order: disjoint, at most `MAX_CHARS` long, holding all of its text.

    Front matter is in no chunk: the fields say what search needs of it. A file without text is one empty
    chunk, so that it is found by its name. A journal entry is found by its words alone, whatever they look like.
    """
    if is_entry(path):
        return [Chunk(start, end, (), text[start:end]) for start, end in cut(text)] or [Chunk(0, 0, (), "")]
    name = file_name(path)
    cutter = _Cutter(text, document)
    chunks = []
    for section_start, section_end, heading_end, heading_path in _sections(text, document):
        named = fields(name, description, heading_path)
        for start, end in cutter.cut(section_start, section_end, heading_end):
            chunks.append(Chunk(start, end, heading_path, "\n".join([*named, text[start:end]])))
    if chunks:
        return chunks
    empty = document.body_start
    return [Chunk(empty, empty, (), "\n".join(fields(name, description, ())))]


def cut(text: str) -> list[tuple[int, int]]:
    """Return the spans of a text that is read as one section, such as a message; blank text has none."""
    if len(text) <= MAX_CHARS:
        end = len(text.rstrip())
        return [(len(text) - len(text.lstrip()), end)] if end else []
    return list(_Cutter(text, parse(text)).cut(0, len(text), 0))


def cut_lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of a part of a text that is no Markdown, cut at lines where it is long."""
    return _Cutter(text, _NO_MARKDOWN).cut(start, end, start)


def _sections(text: str, document: MarkdownDocument) -> Iterator[tuple[int, int, int, tuple[str, ...]]]:
    """Yield start, end, end of the heading, and heading path of each section without its subsections."""
    starts = [*(heading.start for heading in document.headings), len(text)]
    yield document.body_start, starts[0], document.body_start, ()
    path: list[tuple[int, str]] = []
    for heading, end in zip(document.headings, starts[1:], strict=True):
        path = [(level, title) for level, title in path if level < heading.level]
        path.append((heading.level, heading.title[:MAX_HEADING_CHARS].rstrip()))
        yield heading.start, end, heading.end, tuple(title for _, title in path if title)


def fields(name: str, description: Description, heading_path: tuple[str, ...]) -> list[str]:
    """Return the fields that say what a chunk is about, each once, in one line each."""
    said = [
        description.title,
        *heading_path,
        name,
        " ".join(description.tags),
        " ".join(description.aliases),
        *description.summaries,
        description.date or "",
    ]
    return [field[:_MAX_FIELD_CHARS] for field in dict.fromkeys(said) if field]


class _Cutter:
    """Cuts sections of one text into spans."""

    def __init__(self, text: str, document: MarkdownDocument) -> None:
        self._text = text
        self._block_starts = [block.start for block in document.blocks]
        # A longer fence has to be cut, like any text.
        self._fences = [
            (start, end) for start, end in document.fences if len(text[start:end].rstrip()) <= MAX_CHARS
        ]

    def cut(self, start: int, end: int, heading_end: int) -> Iterator[tuple[int, int]]:
        """Yield spans of at most `MAX_CHARS`, without the white space around them, that hold all else."""
        end = start + len(self._text[start:end].rstrip())
        while content := _CONTENT.search(self._text, start, end):
            start = self._line_start(start, content.start())
            stop = end if end - start <= MAX_CHARS else self._best_cut(start, end, heading_end)
            yield start, start + len(self._text[start:stop].rstrip())
            start = stop

    def _line_start(self, start: int, content: int) -> int:
        """Return where the line of `content` begins, so that code keeps its indent."""
        blank = self._text[start:content]
        line = start + 1 + max(blank.rfind("\n"), blank.rfind("\r"))
        return max(line, content - _MAX_INDENT_CHARS)

    def _best_cut(self, start: int, end: int, heading_end: int) -> int:
        """Return the last place to cut, of the best kind that there is: block, line, sentence, word, any."""
        limit = start + MAX_CHARS
        space = _SPACE.match(self._text, limit, end)
        reach = space.end() if space else limit
        # A heading stays with what it heads, unless that is a fence which only fits alone.
        floor = heading_end if start < heading_end <= reach else start
        for places in self._places(start, reach):
            place = next((p for p in reversed(places) if p > floor and not self._inside(p)), None)
            if place is not None:
                return place
        if floor > start:
            return floor
        return next((p for p in range(limit, start, -1) if not self._inside(p)), limit)

    def _places(self, start: int, reach: int) -> Iterator[list[int]]:
        first, last = bisect_right(self._block_starts, start), bisect_right(self._block_starts, reach)
        yield self._block_starts[first:last]
        part = self._text[start:reach]  # a pattern that looks back must not see what stands before it
        for pattern in (_LINE_END, _SENTENCE_END, _SPACE):
            yield [start + match.end() for match in pattern.finditer(part)]

    def _inside(self, place: int) -> bool:
        """Return whether `place` is inside of a fence or of what a reader sees as one character."""
        fence = bisect_right(self._fences, (place,)) - 1  # the last that begins before `place`
        if fence >= 0 and place < self._fences[fence][1]:
            return True
        before, after = self._text[place - 1], self._text[place]
        if before in "\r\n":
            return before == "\r" and after == "\n"
        return _JOINER in (before, after) or unicodedata.category(after)[0] == "M"
