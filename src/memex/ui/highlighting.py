"""The parts of a text that were matched or chosen, marked for a page. Pure."""

from collections.abc import Container, Iterable
from dataclasses import dataclass

from memex.store.search.analyzer import Analyzer

AROUND_CHARS = 200


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of a text; `is_marked` where it was matched or chosen, or where another text has something else."""

    text: str
    is_marked: bool = False


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
    text: str, spans: Iterable[tuple[int, int]], *, around: int = AROUND_CHARS
) -> list[TextPart]:
    """Return the spans of a text as marked parts, with some characters of the text around each.

    The spans are in code points and do not overlap; `around` counts characters before and after each, and what is
    left out between becomes "…".
    """
    parts: list[TextPart] = []
    end = 0
    for start, stop in sorted(spans):
        if start - end > 2 * around:
            parts += [TextPart(text[end : end + around] if end else ""), TextPart("\n…\n")]
            end = start - around
        parts += [TextPart(text[end:start]), TextPart(text[start:stop], is_marked=True)]
        end = stop
    rest = text[end:]
    parts += [TextPart(rest[:around]), TextPart("\n…" if len(rest) > around else "")]
    return [part for part in parts if part.text]
