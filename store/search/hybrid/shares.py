"""The share of a query that a passage holds, by the weight that search gives each word. Pure."""

from collections.abc import Collection, Mapping

from memex.store.search.analyzer import Analyzer
from memex.store.search.bm25 import LIGHT, Query


def word_weights(query: Query, analyzer: Analyzer, text: str) -> dict[str, float]:
    """Return what each word of a query weighs, by lexeme. One that stands nowhere weighs as much as the rarest."""
    weights: dict[str, float] = dict(zip(query.lexemes, query.weights, strict=True))
    rarest = max(weights.values(), default=0.0)
    lexemes = set(analyzer.lexemes(text))
    for lexeme in sorted(lexemes - weights.keys()):
        is_light = lexeme in analyzer.light_lexemes
        weights[lexeme] = rarest * (LIGHT if is_light else 1)
    return weights


def held_share(weights: Mapping[str, float], held: Collection[str]) -> int:
    """Return how much of the weight of a query's words some of them have, in percent, rounded down."""
    total = sum(weights.values())
    return int(100 * sum(weights[lexeme] for lexeme in held) / total) if total else 0
