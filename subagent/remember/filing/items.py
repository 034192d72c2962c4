"""What a Markdown file says: its list items, and the lines and sentences of its prose, with where they stand."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import takewhile

from memex.store.markdown import MarkdownDocument
from memex.store.records import Span
from memex.subagent.remember.filing.entries import Entry, entry_subject
from memex.subagent.statements import language, sentences
from memex.subagent.statements.bullets import ITEM, STAMP, parse_bullet, stamped_day, stamped_due_day
from memex.subagent.statements.language import StatementKind
from memex.subagent.statements.places import kind_of_item
from memex.subagent.statements.subjects import normal_form

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|\Z)")
_QUOTE = re.compile(r"(?:[ \t]*>)+[ \t]?")


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
    children: Sequence["ListItem"] = ()  # whose nested lines a new one in another section takes over
    lines: str = ""  # of one that moves to another section as it is

    def is_later_than(self, day: date) -> bool:
        """Whether it was said after a day, so that what was said that day does not take its place."""
        return self.day is not None and self.day > day

    def is_redated_by(self, entry: Entry) -> bool:
        """Whether an entry, which says the same later, names another due day."""
        is_later = self.day is not None and self.day < entry.date
        return is_later and entry.due is not None and entry.due != self.due

    @property
    def is_changed(self) -> bool:
        """Whether an entry took the place of what the file says here."""
        is_same = (self.normal_form, self.due) == (self.normal_form_before, self.due_before)
        return self.entry is not None and not is_same


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
        lines = _list_lines(text, block.start, block.end, document)
        at = 0
        while at < len(lines):
            marker = lines[at].marker
            if marker is None:
                at += 1
                continue
            own, whole = _extent(lines, at, marker)
            written = text[lines[at].start : lines[own - 1].end]
            item_text = parse_bullet(written)
            item_kind = kind_of_item(heading, path, marker[3])
            form = normal_form(item_text)
            yield ListItem(
                item_text,
                form,
                entry_subject(item_kind, item_text, form),
                item_kind,
                heading,
                _stamped(written, stamped_day),
                due := _stamped(written, stamped_due_day),
                due,
                normal_form_before=form,
                marker=marker[0] or "- ",
                start=lines[at].start,
                own_end=lines[own - 1].end,
                end=lines[whole - 1].end,
            )
            at = own


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


def _stamped(item: str, read: Callable[[str], date | None]) -> date | None:
    """Return a day in the stamp of an item: at its end, or behind its first line."""
    lines = item.strip().splitlines()
    return (read(lines[-1]) or read(lines[0])) if lines else None


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a list; `marker` when an item begins in it."""

    start: int
    end: int
    marker: re.Match[str] | None
    is_blank: bool
    is_code: bool
    is_stamped: bool


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
                ITEM.match(line) if may_begin else None,
                not line.strip(),
                is_code,
                STAMP.search(line) is not None,
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
