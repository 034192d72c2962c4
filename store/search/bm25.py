"""BM25 in integers: the formula that SQL evaluates, bit for bit. Pure.

    weight = round(SCALE * idf * min(repeats in the query, 3)),  idf = ln(1 + (n - df + 0.5) / (df + 0.5)),
             a quarter of it for a word that only frames the question
    score  = sum over lexemes of round(weight * tf / (tf + k1 * (1 - b) + k1 * b * length / average length))

Each term is rounded, so the sum does not depend on its order. The oracle in tests, and the engine for past
states. Source: Lucene's BM25Similarity, with exact lengths and without the constant factor k1 + 1.
"""

import math
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

RANKER_VERSION = 2
K1 = 1.2
B = 0.7
SCALE = 1 << 20
LIGHT = 0.25  # of its weight is what a light word of a query counts, beside others
MAX_QUERY_LEXEMES = 64
MAX_REPEATS = 3

_MAX_COUNT = (1 << 16) - 1
_MAX_CHUNK_ID = (1 << 31) - 1

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Query:
    """Lexemes to look for, rarest first, with their weights; `c2` and `c3` depend on the collection.

    `most` is what a text would score at most that held every word of the query, also those that no chunk holds.
    `chunks` is how many the collection has, and `weight_of` the weight of each lexeme.
    """

    lexemes: tuple[str, ...]
    weights: tuple[int, ...]
    c2: float
    c3: float
    most: int = 0
    chunks: int = 0
    weight_of: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Set the weights by lexeme, which a context looks up for hundreds of lines."""
        object.__setattr__(self, "weight_of", dict(zip(self.lexemes, self.weights, strict=True)))

    @property
    def mean_length(self) -> float:
        """The mean length of the chunks of the collection, in lexemes; 1 without chunks."""
        return max(1.0, K1 * B / self.c3) if self.c3 else 1.0


def entry(chunk_id: int, length: int, tf: int) -> int:
    """Return a posting as a bigint; entries sort by chunk. Length and tf above 65,535 count as that.

    Raises:
        ValueError: the chunk's id does not fit 31 bits.
    """
    if not 0 <= chunk_id <= _MAX_CHUNK_ID:
        raise ValueError(f"chunk id {chunk_id} is not in 0 … {_MAX_CHUNK_ID}")
    return chunk_id << 32 | min(length, _MAX_COUNT) << 16 | min(tf, _MAX_COUNT)


def weigh(
    lexemes: Iterable[str],
    *,
    n: int,
    total_length: int,
    df: Mapping[str, int],
    light: Container[str] = frozenset(),
    k1: float = K1,
    b: float = B,
) -> Query:
    """Return the query for a collection of `n` chunks: its rarest distinct lexemes that occur there.

    Args:
        lexemes: the lexemes of the query, with repeats.
        n: number of chunks.
        total_length: the length of all chunks together, in lexemes.
        df: number of chunks that hold a lexeme; absent or 0 when none does.
        light: lexemes that count less, unless the query has no others.
        k1: how late further occurrences stop to count, at least 0.
        b: how much a chunk's length counts, 0 to 1.
    """
    repeats = Counter(lexemes)
    is_light = all(lexeme in light for lexeme in repeats)
    rarest = sorted((df[lexeme], lexeme) for lexeme in repeats if df.get(lexeme, 0) > 0)[:MAX_QUERY_LEXEMES]
    weights = (
        _weight(n, count, repeats[lexeme], lexeme in light and not is_light) for count, lexeme in rarest
    )
    return Query(
        lexemes=tuple(lexeme for _, lexeme in rarest),
        weights=tuple(weights),
        c2=k1 * (1 - b),
        c3=k1 * b / (total_length / n) if n and total_length else 0.0,
        chunks=n,
    )


def most_score(
    query: Query,
    lexemes: Iterable[str],
    *,
    n: int,
    df: Mapping[str, int],
    light: Container[str] = frozenset(),
) -> int:
    """Return the sum of the weights of a question's lexemes, with those that no chunk holds; at least 1.

    The 64 highest weights count. Arguments as those of `weigh`, which made the query.
    """
    repeats = Counter(lexemes)
    is_light = all(lexeme in light for lexeme in repeats)
    known = query.weight_of
    weights = [known[lexeme] for lexeme in repeats if lexeme in known] + [
        _weight(n, 0, times, lexeme in light and not is_light)
        for lexeme, times in repeats.items()
        if not df.get(lexeme)
    ]
    return max(1, sum(sorted(weights, reverse=True)[:MAX_QUERY_LEXEMES]))


def _weight(n: int, df: int, repeats: int, is_light: bool) -> int:
    idf = math.log(1 + (n - df + 0.5) / (df + 0.5))
    return round(SCALE * idf * min(repeats, MAX_REPEATS) * (LIGHT if is_light else 1))


def term_score(weight: int, tf: int, length: int, c2: float, c3: float) -> int:
    """Return what `tf` occurrences of a lexeme add to the score of a chunk.

    SQL evaluates the same operations in the same order on doubles: `(w * tf / (tf + c2 + c3 * length))::int`,
    which rounds half to even as `round` does.
    """
    return round((weight * tf) / ((tf + c2) + c3 * length))


def score(query: Query, tfs: Mapping[str, int], length: int) -> int:
    """Return the score of a chunk of `length` lexemes that holds each lexeme `tfs` times."""
    if not tfs:
        return 0
    c2, at_length, weight_of = query.c2, query.c3 * min(length, _MAX_COUNT), query.weight_of
    found = 0
    for lexeme, tf in tfs.items():
        if tf and (weight := weight_of.get(lexeme)):
            tf = tf if tf < _MAX_COUNT else _MAX_COUNT  # noqa: FURB136, PLW2901  # as in `score_counts`
            found += round((weight * tf) / ((tf + c2) + at_length))
    return found


def score_counts(query: Query, tfs: Sequence[int], length: int) -> int:
    """Return the score of a chunk, as `score`, that holds the lexemes of a query so many times, in their order."""
    c2, at_length = query.c2, query.c3 * min(length, _MAX_COUNT)
    found = 0
    for weight, tf in zip(query.weights, tfs, strict=True):
        if tf:  # as `term_score`, which a search would call thousands of times
            tf = tf if tf < _MAX_COUNT else _MAX_COUNT  # noqa: FURB136, PLW2901  # `min` takes longer than the rest
            found += round((weight * tf) / ((tf + c2) + at_length))
    return found


def term_scores(query: Query, tfs: Mapping[str, int], length: int) -> dict[str, int]:
    """Return what each lexeme of a query scores in a chunk, where it stands there."""
    scores = {
        lexeme: term_score(weight, tfs[lexeme], length, query.c2, query.c3)
        for lexeme, weight in zip(query.lexemes, query.weights, strict=True)
        if tfs.get(lexeme)
    }
    return {lexeme: value for lexeme, value in scores.items() if value}


def named_tfs(query: Query, tfs: Sequence[int]) -> dict[str, int]:
    """Return how often lexemes stand in a chunk, from numbers in the order of a query."""
    return {lexeme: tf for lexeme, tf in zip(query.lexemes, tfs, strict=True) if tf}


def rank(query: Query, documents: Iterable[tuple[Key, Mapping[str, int], int]]) -> list[tuple[Key, int]]:
    """Return key and score of the documents that score, best first, ties by key.

    Args:
        query: as `weigh` made it.
        documents: key, number of occurrences of each lexeme, and length in lexemes, of each document.
    """
    scored = ((key, score(query, tfs, length)) for key, tfs, length in documents)
    return sorted((item for item in scored if item[1] > 0), key=lambda item: (-item[1], item[0]))
