"""The words of statements, which every question is compared with: counted once for each statement. Pure."""

from collections import Counter
from collections.abc import Mapping

from memex.store.search.analyzer import Analyzer
from memex.subagent.text_cache import cached_for_short_texts

MAX_CHARS = 1_000  # a longer statement is counted each time


def count_lexemes(text: str, analyzer: Analyzer) -> Mapping[str, int]:
    """Return how often each lexeme stands in a statement; nobody may change it."""
    return _count(text, analyzer) if len(text) <= MAX_CHARS else Counter(analyzer.lexemes(text))


@cached_for_short_texts(entries=16_384)
def _count(text: str, analyzer: Analyzer) -> Mapping[str, int]:
    return Counter(analyzer.lexemes(text))
