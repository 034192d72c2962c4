"""The layout of a Markdown file: line endings, list markers, and blocks that are left open. Pure."""

import re
from collections.abc import Collection, Iterator, Sequence
from datetime import date
from itertools import groupby

from memex.store import markdown
from memex.store.markdown import Heading, MarkdownDocument
from memex.store.records import Span
from memex.subagent.remember.filing.items import ListItem
from memex.subagent.statements.bullets import unclosed_fence
from memex.subagent.statements.language import StatementKind

# What a new task begins with; an open box under a heading such as `Blocked` is a task that is blocked.
BOXES: dict[StatementKind, str] = {"pending": "- [ ] ", "blocker": "- [ ] ", "done": "- [x] "}

_TEXT_LINE = re.compile(r"(?![ \t]*(?:[-*+]|\d{1,9}[.)])[ \t])[ \t]*[^\s]")
_HTML_OPENING = re.compile(r"\s*(<!--|<\?|<!\[cdata\[|<!|<script|<pre|<style|<textarea)", re.IGNORECASE)
_HTML_CLOSINGS = {
    "<!--": "-->",
    "<?": "?>",
    "<![cdata[": "]]>",
    "<!": ">",
    "<script": "</script>",
    "<pre": "</pre>",
    "<style": "</style>",
    "<textarea": "</textarea>",
}


def structure(document: MarkdownDocument) -> tuple[object, ...]:
    """Return what a file is made of beside its paragraphs."""
    kinds = (block.kind for block in document.blocks if block.kind != "paragraph")
    titles = [(heading.level, heading.title) for heading in document.headings]
    return document.front_matter, titles, [kind for kind, _ in groupby(kinds)]


def sections(document: MarkdownDocument, end: int) -> Iterator[tuple[Heading, Span]]:
    """Yield the headings of a file that ends at `end`, with where the text under each stands, without others."""
    starts = [*(heading.start for heading in document.headings[1:]), end]
    for heading, following in zip(document.headings, starts, strict=bool(document.headings)):
        yield heading, (heading.end, following)


def own_part(document: MarkdownDocument, end: int, heading: str, general: str | None) -> Span | None:
    """Return where the text under a heading stands, without that of the next heading of any level.

    A file may be titled as its section is: the section is meant. The title is meant if there is no section at all,
    and if the heading is not `general`, which every file of statements has for itself.
    """
    title = markdown.plain_title(heading).casefold()
    found = list(sections(document, end))
    named = [(candidate, span) for candidate, span in found if candidate.title.casefold() == title]
    below = [span for candidate, span in named if candidate.level > 1]
    if not named or below:
        return below[0] if below else None
    has_sections = any(candidate.level == 2 for candidate, _ in found)
    is_general = general is not None and title == general.casefold()
    return None if has_sections and is_general else named[0][1]


def line_ending(text: str) -> str:
    """Return what ends the first line of a file, and shall end new ones."""
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"


def width(marker: str) -> int:
    """Return how far the text of an item stands from its marker's first character, without a box."""
    return len(marker.split(maxsplit=1)[0]) + 1


def closing_lines(text: str, document: MarkdownDocument) -> str:
    """Return what closes a last block that would take in all that is put behind it; mostly nothing."""
    last = document.blocks[-1] if document.blocks else None
    if last is None or last.kind not in {"fence", "html_block"}:
        return ""
    block = text[last.start : last.end]
    if last.kind == "fence":
        return unclosed_fence(block)
    opening = _HTML_OPENING.match(block)
    closing = _HTML_CLOSINGS.get(opening[1].casefold()) if opening else None
    return "" if closing is None or closing in block.casefold() else closing


def gap(text: str, start: int, end: int, line_ending: str) -> str:
    """Return a line ending if text would run into a bullet when the code between `start` and `end` goes."""
    said = text[start:end]
    is_code = "~~~" in said or said[: said.rfind("`") + 1].endswith("```")
    return line_ending if is_code and _TEXT_LINE.match(text, end) else ""


def change_order(change: tuple[int, int, str]) -> tuple[int, bool, int]:
    """Return what changes of a text are sorted by: what is put in first, and what goes before what goes with it."""
    start, end, _ = change
    return start, start < end, -end


def is_same(heading: str, other: str) -> bool:
    """Return whether two headings are the same, whatever their case and spaces."""
    return " ".join(heading.split()).casefold() == other.casefold()


def kept_end(text: str, emptied: Sequence[tuple[int, int, str]]) -> int:
    """Return where a file ends without the emptied sections at its end."""
    end = len(text)
    for start, last, _ in reversed(emptied):
        if last == end:
            end = start
    return end


def place_before_later(
    items: Sequence[ListItem], start: int, end: int, days: Collection[date | None]
) -> int | None:
    """Return where the first item of the top level begins that was said later than new ones of its day, if one was.

    Of statements of one day, the one further down counts as the newer one.

    Args:
        items: those of the file.
        start: where the section of the new items begins.
        end: where it ends.
        days: those of the new items.
    """
    found = (item for item in items if start <= item.start < end and item.is_later and not item.is_gone)
    return next((item.start for item in found if item.day in days and item.marker[0] in "-*+"), None)
