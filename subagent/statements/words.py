"""The words of lines, which every question is compared with: read once for each line. Pure."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from memex.store.search.analyzer import Analyzer
from memex.store.statement_lines import line_words
from memex.subagent.statements.bullets import parse_bullet


class CountedWords(NamedTuple):
    """The words of a line.

    Attributes:
        frequencies: how often each lexeme stands there; nobody may change it.
        length: in lexemes.
    """

    frequencies: Mapping[str, int]
    length: int


class LineWords:
    """The words of what a line says, without a list's mark and a statement's date: read when they are asked for.

    Threads may share one: what two of them read is the same.
    """

    __slots__ = ("_counted", "_said", "text")

    def __init__(self, text: str) -> None:
        """Make those of a line."""
        self.text = text
        self._counted: tuple[Analyzer, CountedWords] | None = None
        self._said: tuple[str, str] | None = None

    def count(self, analyzer: Analyzer) -> CountedWords:
        """Return its lexemes; those of the latest analyzer are kept."""
        known = self._counted
        if known is None or known[0] is not analyzer:
            frequencies = Counter(analyzer.lexemes(parse_bullet(self.text)))
            known = self._counted = analyzer, CountedWords(frequencies, frequencies.total())
        return known[1]

    @property
    def said(self) -> tuple[str, str]:
        """The statement of the line, and its words, by which it equals another one; see `line_words`."""
        if self._said is None:
            said = parse_bullet(self.text).strip()
            self._said = said, line_words(said)
        return self._said
