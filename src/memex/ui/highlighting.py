"""The parts of a text that were matched or chosen, marked for a page. Pure."""

from collections.abc import Container, Iterable
from dataclasses import dataclass

from memex.store.search.analyzer import Analyzer

AROUND_CHARS = 200


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of a text; `is_marked` where it was matched or chosen, or where another text has something else.

    `is_outdated` is for a chosen part that a context marks as earlier.
    """

    text: str
    is_marked: bool = False
    is_outdated: bool = False


def marked_words(passage: str, lexemes: Container[str], analyzer: Analyzer) -> list[TextPart]:
    """Return a passage in parts, in its order; words of which a lexeme matched are parts of their own."""
    parts: list[TextPart] = []
    end = 0
    for token in analyzer.tokens(passage):
        if token.lexeme in lexemes and token.start >= end:
            parts += [
                TextPart(passage[end : token.start]),
                TextPart(passage[token.start : token.end], True),
            ]
            end = token.end
    parts.append(TextPart(passage[end:]))
    return [part for part in parts if part.text]


def marked_spans(
    text: str,
    spans: Iterable[tuple[int, int]],
    *,
    outdated: Container[tuple[int, int]] = (),
    around: int = AROUND_CHARS,
) -> list[TextPart]:
    """Return the spans of a text as marked parts, with some characters of the text around each.

    The spans are in code points and do not overlap; `outdated` are those of them that a context marks as earlier.
    At most `around` characters stand before and after each: no word is cut, and what stands before a span begins
    with a line if one begins there. What is left out between becomes "…".
    """
    parts: list[TextPart] = []
    end = 0
    for start, stop in sorted(spans):
        if start - end > 2 * around:
            parts += [
                TextPart(text[end : _word_end(text, end, end + around)] if end else ""),
                TextPart("\n…\n"),
            ]
            end = _line_or_word_start(text, start - around, start)
        is_outdated = (start, stop) in outdated
        parts += [TextPart(text[end:start]), TextPart(text[start:stop], True, is_outdated)]
        end = stop
    rest = text[end:]
    if len(rest) > around:
        rest = rest[: _word_end(rest, 0, around)] + "\n…"
    parts.append(TextPart(rest))
    return [part for part in parts if part.text]


def _line_or_word_start(text: str, first: int, last: int) -> int:
    """Return where the first line between two places begins, or else the first word; `last` if none does."""
    starts = [at for at in range(first, last) if at == 0 or text[at - 1].isspace()]
    return next((at for at in starts if at == 0 or text[at - 1] == "\n"), starts[0] if starts else last)


def _word_end(text: str, first: int, last: int) -> int:
    """Return where the last whole word between two places ends; `first` if none does."""
    ends = (at for at in range(last, first, -1) if at >= len(text) or text[at].isspace())
    return next(ends, first)
