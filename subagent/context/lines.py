"""A text as lines, each of which may be recalled: a sentence, a list item, a table row, a block of code. Pure."""

import re
from collections.abc import Iterator

from memex.store.markdown import plain_title
from memex.store.records import Span

MAX_WHOLE_CHARS = (
    400  # a paragraph, an item or a row that is no longer is one line; a longer one is cut at sentences
)
MIN_SENTENCE_CHARS = 12  # what is shorter stays with the sentence before it

_LINE = re.compile(r"[^\n]*\n?")
_HEADING = re.compile(r"[ \t]{0,3}(#{1,6})(?:[ \t]|$)")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)\]*_]{0,3}\s+(?=\S)|(?<=[。！？])")
# A full stop behind these, or behind one letter, ends no sentence; nor does one before a small letter, or between a
# day and its month in German.
_ABBREVIATED = re.compile(
    r"\b(?:[^\W\d_]|dra?|mrs?|ms|ste?|prof|hr|fr|sra?|mme|mlle|jr|nr|vs|ca|bzw|tel|abs|inc|ltd|approx|dept|fig|vol"
    r"|jan|feb|apr|jun|jul|aug|sept?|oct|okt|nov|dec|dez)\.$",
    re.IGNORECASE,
)
_DAY = re.compile(r"(?<![\d:.,])\d{1,2}\.$")
_MONTH = re.compile(r"(?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez)")
_LONGEST_ABBREVIATION = 8
_WORD = re.compile(r"\w")


def split_titled_lines(text: str) -> tuple[tuple[Span, tuple[str, ...]], ...]:
    """Return where the lines of a text stand, in order and disjoint, each with the titles above it in the text.

    Headings and what has no word are no lines.
    """
    return tuple(line for line in _split(text) if _WORD.search(text, *line[0]))


def split_lines(text: str) -> tuple[Span, ...]:
    """Return where the lines of a text stand; see `split_titled_lines`."""
    return tuple(span for span, _ in split_titled_lines(text))


def _split(text: str) -> Iterator[tuple[Span, tuple[str, ...]]]:
    fence, fence_start = "", 0
    above: list[tuple[int, str]] = []
    titles: tuple[str, ...] = ()
    for match in _LINE.finditer(text):
        line = match[0].rstrip()
        start, end = match.start(), match.start() + len(line)
        opened = _FENCE.match(line)
        if fence:
            if opened and line.strip().startswith(fence):
                yield (fence_start, end), titles
                fence = ""
        elif opened:
            fence, fence_start = opened[1], start
        elif heading := _HEADING.match(line):
            level = len(heading[1])
            above = [*(upper for upper in above if upper[0] < level), (level, _title(line[heading.end() :]))]
            titles = tuple(title for _, title in above if title)
        elif line:
            for span in _sentences(text, start + len(line) - len(line.lstrip()), end):
                yield span, titles
    if fence:
        yield (fence_start, len(text.rstrip())), titles


def _title(text: str) -> str:
    """Return the title of a heading as plain text, without the marks that may close it."""
    title = text.strip()
    words, _, last = title.rpartition(" ")
    return plain_title(title if last.strip("#") else words)


def _sentences(text: str, start: int, end: int) -> Iterator[Span]:
    if end - start <= MAX_WHOLE_CHARS:
        yield start, end
        return
    first = start
    for match in _SENTENCE_END.finditer(text, start, end):
        stop = match.start() + len(match[0].rstrip())
        last = text[max(first, stop - _LONGEST_ABBREVIATION) : stop]
        is_short = stop - first < MAX_WHOLE_CHARS  # what goes on for longer is cut all the same
        if is_short and last.endswith(".") and _goes_on(last, text, match.end()):
            continue
        if stop - first >= MIN_SENTENCE_CHARS and end - match.end() >= MIN_SENTENCE_CHARS:
            yield first, stop
            first = match.end()
    if first < end:
        yield first, end


def _goes_on(last: str, text: str, place: int) -> bool:
    """Tell whether a sentence goes on at a place behind a full stop, with which `last` ends."""
    is_date = _DAY.search(last) is not None and _MONTH.match(text, place) is not None
    return is_date or _ABBREVIATED.search(last) is not None or text[place].islower()
