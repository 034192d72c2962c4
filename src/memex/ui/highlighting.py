"""The parts of a text that were matched or chosen, marked for a page. Pure."""

from collections.abc import Container, Iterable
from dataclasses import dataclass

from memex.store.search.analyzer import Analyzer

AROUND_CHARS = 200


@dataclass(frozen=True, slots=True)
class PassagePart:
    """A part of a text, and whether it was matched or chosen."""

    text: str
    is_marked: bool = False


def marked_words(passage: str, lexemes: Container[str], analyzer: Analyzer) -> list[PassagePart]:
    """Return a passage in parts, in its order; words of which a lexeme matched are parts of their own."""
    parts: list[PassagePart] = []
    end = 0
    for token in analyzer.tokens(passage):
        if token.lexeme in lexemes and token.start >= end:
            parts += [
                PassagePart(passage[end : token.start]),
                PassagePart(passage[token.start : token.end], True),
            ]
            end = token.end
    parts.append(PassagePart(passage[end:]))
    return [part for part in parts if part.text]


def marked_spans(
    text: str, spans: Iterable[tuple[int, int]], *, around: int = AROUND_CHARS
) -> list[PassagePart]:
    """Return the spans of a text as marked parts, with some characters of the text around each.

    Args:
        text: the text.
        spans: from where to where each reaches, in code points; they do not overlap.
        around: how many characters before and after a span are shown; what is left out between becomes "…".
    """
    parts: list[PassagePart] = []
    end = 0
    for start, stop in sorted(spans):
        if start - end > 2 * around:
            parts += [PassagePart(text[end : end + around] if end else ""), PassagePart("\n…\n")]
            end = start - around
        parts += [PassagePart(text[end:start]), PassagePart(text[start:stop], is_marked=True)]
        end = stop
    rest = text[end:]
    parts += [PassagePart(rest[:around]), PassagePart("\n…" if len(rest) > around else "")]
    return [part for part in parts if part.text]
