"""The words of a passage that search matched, marked for a page. Pure."""

from collections.abc import Container
from dataclasses import dataclass

from memex.store.search.analyzer import Analyzer


@dataclass(frozen=True, slots=True)
class PassagePart:
    """A part of a passage, and whether it is a word that matched."""

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
