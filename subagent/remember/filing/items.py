"""The contents of a Markdown file: list items, and lines and sentences of prose, with where they stand."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import takewhile

from memex.store.citations.syntax import CitedPlace
from memex.store.markdown import Block, MarkdownDocument
from memex.store.records import Span
from memex.subagent.remember.filing.entries import Entry, entry_subject
from memex.subagent.statements import language, sentences
from memex.subagent.statements.bullets import (
    ITEM,
    LINE_END,
    STAMP,
    UNDATED,
    parse_bullet,
    stamped_day,
    stamped_due_day,
)
from memex.subagent.statements.language import StatementKind
from memex.subagent.statements.places import kind_of_item
from memex.subagent.statements.subjects import normal_form
from memex.subagent.text_cache import cached_for_texts

MAX_KEPT_CHARS = 1 << 20  # of items whose reading is kept

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|\Z)")
# A list of one line an item, as most are.
_PLAIN_LIST = re.compile(r"(?:- [^\r\n]*(?:\n+|\Z))+")
_PLAIN_ITEM = re.compile(r"- [^\n]*(?:\n|\Z)")
_QUOTE = re.compile(r"(?<![ \t])(?:[ \t]*+>)++[ \t]?")


@dataclass(slots=True, eq=False)
class ListItem:
    """A list item of a file, or a new one, as entries change it; spans are of whole lines."""

    text: str
    normal_form: tuple[str, ...]
    subject: str | None
    kind: StatementKind
    heading: str
    day: date | None = None  # on which it was said, if it says so
    due: date | None = None
    due_before: date | None = None
    entry: Entry | None = None
    is_gone: bool = False
    normal_form_before: tuple[str, ...] | None = None  # None for a new one
    marker: str = "- "
    start: int = 0
    own_end: int = 0  # behind its statement; what is nested below it follows
    end: int = 0
    is_later: bool = (
        False  # it is known to have been said after the entries of the call, also on the same day
    )
    is_stamped: bool = False  # one of the lines of its statement ends with a date
    children: Sequence["ListItem"] = ()  # whose nested lines a new one in another section takes over
    lines: str = ""  # of one that moves to another section as it is
    cited: list[CitedPlace] = field(default_factory=list)  # messages that say the same; new ones alone

    def resists(self, entry: Entry) -> bool:
        """Return whether it was said after an entry, so that the entry does not take its place.

        An entry that was taken from a conversation gives way to what may be newer: to a statement of the same day,
        to one without a day, and if nobody knows when the entry was said, to any. What the call itself has put in
        is in the order of the call.
        """
        if self.is_later and self.entry is None:
            return True
        if entry.cited is not None and self.entry is None:
            return entry.date == UNDATED or self.day is None or self.day >= entry.date
        return self.day is not None and self.day > entry.date

    def cite(self, entry: Entry) -> str | None:
        """Note that the message of an entry says the same; return the statement, None if there is no message."""
        if entry.cited is None:
            return None
        self.cited.append(entry.cited)
        return self.text

    def is_redated_by(self, entry: Entry) -> bool:
        """Return whether an entry, which says the same later, names another due day."""
        is_later = self.day is not None and self.day < entry.date
        return is_later and entry.due is not None and entry.due != self.due

    @property
    def is_changed(self) -> bool:
        """Return whether an entry took the place of what the file says here."""
        if self.entry is None:
            return False
        return (self.normal_form, self.due) != (self.normal_form_before, self.due_before)


def line_end(text: str, start: int) -> int:
    """Return where the line ends that a place is in, its line ending included."""
    return _LINE.match(text, start).end()  # type: ignore[union-attr]  # it matches anywhere


def list_items(text: str, document: MarkdownDocument, path: str = "", above: str = "") -> Iterator[ListItem]:
    """Yield the list items of the top-level lists, nested ones too.

    Args:
        text: a file, or a part of one.
        document: the same, parsed.
        path: of the file, which tells the kinds of its items.
        above: the heading that a part stands under.
    """
    starts = [heading.start for heading in document.headings]
    for block in document.blocks:
        if block.kind not in {"bullet_list", "ordered_list"}:
            continue
        index = bisect_right(starts, block.start) - 1
        heading = document.headings[index].title if index >= 0 else above
        kinds: dict[str | None, StatementKind] = {}
        for start, own_end, end in _item_extents(text, block, document):
            said = _written_item(text[start:own_end])
            kind = kinds.get(said.box) or kinds.setdefault(said.box, kind_of_item(heading, path, said.box))
            yield ListItem(
                said.text,
                said.normal_form,
                entry_subject(kind, said.text, said.normal_form),
                kind,
                heading,
                said.day,
                said.due,
                said.due,
                normal_form_before=said.normal_form,
                marker=said.marker or "- ",
                start=start,
                own_end=own_end,
                end=end,
                is_stamped=said.is_stamped,
            )


def prose_parts(text: str, document: MarkdownDocument) -> Iterator[str]:
    """Yield the lines of the paragraphs and quotes, their sentences, and each of them whole."""
    tables = language.load("en")
    for block in document.blocks:
        if block.kind not in {"paragraph", "blockquote"}:
            continue
        lines = [_QUOTE.sub("", line, count=1) for line in text[block.start : block.end].splitlines()]
        yield "\n".join(lines)
        for line in lines:
            spans = list(sentences.split_sentences(line, tables))
            yield from (line[start:end] for start, end in spans)
            if len(spans) > 1:
                yield line


def prose_sentences(text: str, document: MarkdownDocument, *, with_lines: bool = False) -> Iterator[Span]:
    """Yield where the sentences of the paragraphs stand; with them the lines that hold more than one."""
    tables = language.load("en")
    for block in document.blocks:
        start = block.start
        while block.kind == "paragraph" and start < block.end:
            end = line_end(text, start)
            line = text[start:end].rstrip()
            spans = [(start + first, start + last) for first, last in sentences.split_sentences(line, tables)]
            yield from spans
            if with_lines and len(spans) > 1:
                yield start + len(line) - len(line.lstrip()), start + len(line)
            start = end


@dataclass(frozen=True, slots=True)
class _WrittenItem:
    """The contents of the lines of a list item, without what is nested below it."""

    text: str
    normal_form: tuple[str, ...]
    marker: str
    box: str | None
    day: date | None
    due: date | None
    is_stamped: bool


@cached_for_texts(max_chars=MAX_KEPT_CHARS)
def _written_item(written: str) -> _WrittenItem:
    """Return what the lines of a list item say; each call reads most items that the last one read."""
    text, marker = parse_bullet(written), ITEM.match(LINE_END.split(written, maxsplit=1)[0])
    return _WrittenItem(
        text,
        normal_form(text),
        marker[0] if marker else "",
        marker[3] if marker else None,
        _stamped(written, stamped_day),
        _stamped(written, stamped_due_day),
        any(map(STAMP.search, written.splitlines())),
    )


def _stamped(item: str, read: Callable[[str], date | None]) -> date | None:
    """Return a day in the stamp of an item: at its end, or behind its first line."""
    lines = item.strip().splitlines()
    return (read(lines[-1]) or read(lines[0])) if lines else None


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a list; `marker` when an item begins in it."""

    start: int
    end: int
    text: str
    marker: re.Match[str] | None
    is_code: bool

    @property
    def is_blank(self) -> bool:
        return not self.text.strip()

    @property
    def is_stamped(self) -> bool:
        return STAMP.search(self.text) is not None


def _item_extents(text: str, block: Block, document: MarkdownDocument) -> Iterator[tuple[int, int, int]]:
    """Yield where each item of a list begins, where its statement ends, and where what is nested below it ends."""
    if not document.fences and _PLAIN_LIST.fullmatch(text, block.start, block.end):
        for line in _PLAIN_ITEM.finditer(text, block.start, block.end):
            yield line.start(), line.end(), line.end()
        return
    lines = _list_lines(text, block.start, block.end, document)
    at = 0
    while at < len(lines):
        marker = lines[at].marker
        if marker is None:
            at += 1
            continue
        own, whole = _extent(lines, at, marker)
        yield lines[at].start, lines[own - 1].end, lines[whole - 1].end
        at = own


def _list_lines(text: str, start: int, end: int, document: MarkdownDocument) -> list[_Line]:
    fences = document.fences
    fence = bisect_right(fences, (start, start))
    lines = []
    while start < end:
        until = line_end(text, start)
        while fence < len(fences) and fences[fence][1] <= start:
            fence += 1
        is_code = fence < len(fences) and fences[fence][0] <= start
        line = text[start:until].rstrip("\r\n")
        # An item may open with a fence: then its first line is both.
        may_begin = not is_code or fences[fence][0] == start
        lines.append(
            _Line(
                start,
                until,
                line,
                ITEM.match(line) if may_begin else None,
                is_code,
            )
        )
        start = until
    return lines


def _extent(lines: Sequence[_Line], at: int, marker: re.Match[str]) -> tuple[int, int]:
    """Return behind which line the statement of an item ends, and behind which the item with what it nests.

    A statement ends before a blank line, before nested items unless it introduces them with a colon, and
    behind its date, which is the last one where its own words hold one; but code goes on.
    """
    indent = len(marker[1].expandtabs(4)) + 1
    first = STAMP.sub("", marker.string)
    is_stamped, is_opener = first != marker.string, first.rstrip().endswith(":")
    if is_stamped:
        run = takewhile(lambda line: line.marker is None and not line.is_blank, lines[at + 1 :])
        is_stamped = not any(line.is_stamped for line in run)
    own = whole = at + 1
    is_own = True
    for index in range(at + 1, len(lines)):
        line = lines[index]
        is_nested = line.marker is not None and len(line.marker[1].expandtabs(4)) >= indent
        if line.marker is not None and not is_nested:
            break
        goes_on = not line.is_blank and (is_opener or not (is_nested or is_stamped))
        is_own = is_own and (line.is_code or goes_on)
        own = index + 1 if is_own else own
        whole = whole if line.is_blank and not line.is_code else index + 1
    return own, max(own, whole)
