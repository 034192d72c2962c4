"""The words of lines, which every question is compared with: read once for each line. Pure."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from memex.store.search.analyzer import Analyzer
from memex.store.statement_lines import line_words
from memex.subagent.statements.bullets import parse_bullet
from memex.subagent.text_cache import cached_for_short_texts


class CountedWords(NamedTuple):
    """The words of a line.

    Attributes:
        frequencies: how often each lexeme stands there; nobody may change it.
        length: in lexemes.
    """

    frequencies: Mapping[str, int]
    length: int


@cached_for_short_texts(entries=16_384)
def count_words(line: str, analyzer: Analyzer) -> CountedWords:
    """Return the words of what a line says, without a list's mark and a statement's date."""
    frequencies = Counter(analyzer.lexemes(parse_bullet(line)))
    return CountedWords(frequencies, frequencies.total())


@cached_for_short_texts(entries=16_384)
def said_words(line: str) -> tuple[str, str]:
    """Return what a line says, without a list's mark and a statement's date, and its words; see `line_words`."""
    said = parse_bullet(line).strip()
    return said, line_words(said)
