"""The part of a chunk that shows why it was found, as plain text. Pure."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection

from memex.store.records import Span
from memex.store.search.analyzer import Analyzer

MAX_CHARS = 240

_CUT = "…"
_SPACE = re.compile(r"\s")

# Lines that are only marks go first, then marks at the start of a line, then those inside of it.
_FENCE = re.compile(r"^[ \t>]*(?:`{3,}|~{3,}).*$", re.MULTILINE)
_RULE = re.compile(r"^[ \t>|:=*_+-]{2,}$", re.MULTILINE)
_TABLE_ROW = re.compile(r"^[ \t]*\|.*$", re.MULTILINE)
_LINE_MARK = re.compile(r"^[ \t]*(?:>[ \t]*)*(?:#{1,6}[ \t]+|[-*+][ \t]+(?:\[[ xX]\][ \t]+)?)?", re.MULTILINE)
_WIKI_LINK = re.compile(r"!?\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
# By name, since `<u8>` in code is no tag.
_TAG = (
    r"</?(?:a|b|br|code|details|div|em|h[1-6]|hr|i|img|kbd|li|ol|p|pre|span|strong|su[bp]|summary"
    r"|table|tbody|td|th|thead|tr|u|ul)\b[^<>]*>"
)
_TAG_ALONE = re.compile(_TAG, re.IGNORECASE)
_TAG_OR_COMMENT = re.compile(rf"<!--.*?-->|{_TAG}", re.DOTALL | re.IGNORECASE)
_MARKS = re.compile(r"[`~*_]+")
_EMPHASIS = re.compile(r"(?<!\\)(?:`+|~~|(?<!\s)\*+|\*+(?!\s)|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w))")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


def snippet(body: str, wanted: Collection[str], analyzer: Analyzer, *, max_chars: int = MAX_CHARS) -> str:
    """Return the stretch of `body` with the most distinct `wanted` lexemes, the earliest of equals.

    On one line, without Markdown's marks, at most `max_chars` long, with `…` where it was cut.
    """
    text = _plain(body)
    if len(text) <= max_chars:
        return text
    start, end = window(text, wanted, analyzer, max(max_chars - 2 * len(_CUT), 0))
    return f"{_CUT if start else ''}{text[start:end].strip()}{_CUT if end < len(text) else ''}"


def window(text: str, wanted: Collection[str], analyzer: Analyzer, width: int) -> Span:
    """Return a span of `text` of at most `width`, shorter than it, around its most distinct `wanted` lexemes.

    Cut at white space outside of what was wanted; where there is none, between characters.
    """
    first, last = _densest(text, wanted, analyzer, width)
    start = max(0, min(first - (width - (last - first)) // 2, len(text) - width))
    end = start + width
    if start and not text[start - 1].isspace():
        space = _SPACE.search(text, start, first)
        start = space.end() if space else _character(text, start, 1)
    if end < len(text) and not text[end].isspace():
        head = text[last:end]
        kept = len(head.rpartition(" ")[0]) if " " in head else len(head.rpartition("\n")[0])
        end = last + kept if kept else _character(text, end, -1)
    return start, max(start, end)


def _plain(markdown: str) -> str:
    """Return Markdown as a reader sees it, on one line. Patterns are tried only where one of their marks stands."""
    text = "\n".join(markdown.splitlines())
    if "```" in text or "~~~" in text:
        text = _FENCE.sub("", text)
    text = _RULE.sub("", text)
    if "|" in text:
        text = _TABLE_ROW.sub(lambda row: row[0].replace("|", " "), text)
    if "<" in text:
        text = _without_tags(text)
    text = _LINE_MARK.sub("", text)
    if "[" in text:
        text = _LINK.sub(r"\1", _WIKI_LINK.sub(r"\1", text))
    text = _MARKS.sub(_without_emphasis, text)
    if "\\" in text:
        text = _ESCAPE.sub(r"\1", text)
    return " ".join(text.split())


def _without_tags(text: str) -> str:
    """Return a text with a space for each tag and comment. No comment is looked for behind the last `-->`."""
    before, closing, after = text.rpartition("-->")
    return _TAG_OR_COMMENT.sub(" ", before + closing) + _TAG_ALONE.sub(" ", after)


def _without_emphasis(marks: re.Match[str]) -> str:
    """Return a run of marks without those that are emphasis, which depends on the characters beside the run."""
    start, end = max(marks.start() - 1, 0), marks.end() + 1
    run = marks.string[start:end]
    kept = _EMPHASIS.sub("", run)
    return kept[marks.start() - start : len(kept) - (len(run) - (marks.end() - start))]


def _densest(text: str, wanted: Collection[str], analyzer: Analyzer, width: int) -> tuple[int, int]:
    """Return from where to where the most distinct wanted lexemes stand within `width`; (0, 0) if none do."""
    hits = analyzer.places(text, frozenset(wanted))
    best, found = (0, 0), 0
    seen: Counter[str] = Counter()
    left = 0
    for start, end, lexeme in hits:
        seen[lexeme] += 1
        while hits[left][0] + width < end and hits[left][0] < start:
            seen -= Counter([hits[left][2]])
            left += 1
        if len(seen) > found:
            best, found = (hits[left][0], min(end, hits[left][0] + width)), len(seen)
    return best


def _character(text: str, place: int, step: int) -> int:
    """Return the next place from `place` on that is not inside of a combined character."""
    while 0 < place < len(text) and unicodedata.category(text[place])[0] == "M":
        place += step
    return place
