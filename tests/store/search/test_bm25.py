"""BM25 in integers."""

import gzip
import json
import os
import random
from collections import Counter
from pathlib import Path

import bm25s
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.postings import unpack

from memex.store.search.analyzer import Analyzer
from memex.store.search.bm25 import K1, SCALE, B, Query, entry, rank, score, term_score, weigh

counts = st.integers(0, (1 << 16) - 1)


@given(st.integers(0, (1 << 31) - 1), counts, counts)
def test_entries_unpack_to_what_was_packed(chunk_id: int, length: int, tf: int) -> None:
    """An entry is a signed 64-bit integer that holds its three numbers."""
    packed = entry(chunk_id, length, tf)

    assert 0 <= packed < 1 << 63
    assert unpack(packed) == (chunk_id, length, tf)


def test_entries_clamp_counts_and_refuse_ids() -> None:
    """Counts over 16 bits stop at 65,535; an id over 31 bits is an error and never another chunk's."""
    assert unpack(entry(1, 70_000, 70_000)) == (1, 65_535, 65_535)
    for chunk_id in (-1, 1 << 31):
        with pytest.raises(ValueError, match="chunk id"):
            entry(chunk_id, 1, 1)


def test_weights_are_those_of_the_formula() -> None:
    """By hand: ln(1 + 8.5 / 2.5) = 1.481605 and ln(1 + 1.5 / 9.5) = 0.146603, times 2^20 and repeats."""
    query = weigh(["b", "a", "b", "zero", "absent"], n=10, total_length=50, df={"a": 2, "b": 9, "zero": 0})

    assert query.lexemes == ("a", "b")
    assert query.weights == (1553575, 307450)
    assert query.c2 == pytest.approx(0.36)
    assert query.c3 == pytest.approx(0.168)


def test_scores_are_those_of_the_formula() -> None:
    """By hand: 1000 * 2 / (2 + 0.3 + 0.18 * 5) = 625, and the half of 1 * 1 / 2 rounds to even."""
    query = Query(("a", "b"), (1000, 1000), c2=0.3, c3=0.18)

    assert score(query, {"a": 2, "c": 9}, 5) == 625
    assert score(query, {"a": 2, "b": 2}, 5) == 1250
    assert score(query, {"c": 9}, 5) == 0
    assert [term_score(weight, 1, 0, 1.0, 0.0) for weight in (1, 3, 5)] == [0, 2, 2]


def test_repeats_count_three_times_at_most() -> None:
    """A query cannot be bent by repeating one word."""
    weights = [
        weigh(["a"] * repeats, n=10, total_length=50, df={"a": 2}).weights[0] for repeats in (1, 3, 50)
    ]

    assert weights[1] == pytest.approx(3 * weights[0], abs=2)
    assert weights[2] == weights[1]


def test_only_the_rarest_lexemes_count() -> None:
    """Of a long query the 64 rarest distinct lexemes are kept, ties by name."""
    df = {f"w{n:03}": 5 - n % 2 for n in range(200)}
    query = weigh(list(df), n=10, total_length=50, df=df)

    assert query.lexemes == tuple(f"w{n:03}" for n in range(1, 129, 2))


def test_light_words_count_a_quarter_beside_others() -> None:
    """A word that only frames the question counts less, unless the query has no other words."""
    common = {"n": 10, "total_length": 50, "df": {"go": 2, "camp": 2}}
    plain, framed = weigh(["go", "camp"], **common), weigh(["go", "camp"], **common, light={"go"})

    assert dict(zip(framed.lexemes, framed.weights, strict=True)) == {
        "camp": plain.weights[0],
        "go": round(plain.weights[1] / 4),
    }
    assert weigh(["go"], **common, light={"go"}).weights == weigh(["go"], **common).weights


@pytest.mark.parametrize(("n", "total_length"), [(0, 0), (1, 0), (0, 5)])
def test_an_empty_collection_ranks_nothing(n: int, total_length: int) -> None:
    """No chunk or no lexeme at all is no division by zero."""
    query = weigh(["a"], n=n, total_length=total_length, df={})

    assert query.lexemes == ()
    assert rank(query, [("x", {"a": 1}, 1)]) == []


def test_ranking_is_best_first_and_ties_by_key() -> None:
    """Equal scores stand in the order of their keys, and what scores nothing is absent."""
    query = weigh(["a"], n=4, total_length=8, df={"a": 3})
    documents = [("z", {"a": 1}, 2), ("y", {"b": 1}, 2), ("x", {"a": 1}, 2), ("w", {"a": 2}, 2)]

    assert [key for key, _ in rank(query, documents)] == ["w", "x", "z"]


@given(st.permutations(range(6)), st.randoms())
def test_order_of_the_query_does_not_matter(order: list[int], random_: random.Random) -> None:
    """Scores are sums of integers: any order of words or documents gives the same ranking."""
    documents = [(n, Counter({f"w{k}": random_.randint(0, 4) for k in range(6)}), 9) for n in range(9)]
    df = {f"w{k}": sum(tfs[f"w{k}"] > 0 for _, tfs, _ in documents) for k in range(6)}
    queries = [weigh([f"w{k}" for k in ks], n=9, total_length=81, df=df) for ks in (order, range(6))]

    assert rank(queries[0], documents) == rank(queries[1], reversed(documents))


def compare_with_bm25s(corpus: list[list[str]], queries: list[list[str]]) -> None:
    """Assert that scores of every document are those of bm25s, up to rounding."""
    index = bm25s.BM25(method="lucene", k1=K1, b=B, dtype="float64")
    index.index(corpus, show_progress=False)
    df = Counter(lexeme for lexemes in corpus for lexeme in set(lexemes))
    total_length = sum(map(len, corpus))
    documents = [(number, Counter(lexemes), len(lexemes)) for number, lexemes in enumerate(corpus)]

    for lexemes in queries:
        known = [lexeme for lexeme in dict.fromkeys(lexemes) if lexeme in df]
        ours = rank(weigh(known, n=len(corpus), total_length=total_length, df=df), documents)
        theirs = index.get_scores(known) if known else np.zeros(len(corpus))
        best = sorted(theirs, reverse=True)[: len(ours)]

        assert len(ours) == np.count_nonzero(theirs)
        assert [value / SCALE for _, value in ours] == pytest.approx(best, abs=1e-4)
        assert all(value / SCALE == pytest.approx(theirs[key], abs=1e-4) for key, value in ours)


def test_scores_agree_with_another_library() -> None:
    """On random texts of a skewed vocabulary each score is that of bm25s."""
    source = random.Random(7)
    words = [f"w{n}" for n in range(200)]
    sizes = [source.randint(1, 60) for _ in range(300)] + [5] * 20
    texts = [source.choices(words, [1 / (n + 1) for n in range(200)], k=size) for size in sizes]

    compare_with_bm25s(texts[:300], texts[300:])


@pytest.mark.skipif("MEMEX_EVAL_DATA" not in os.environ, reason="MEMEX_EVAL_DATA names no folder of data")
def test_scores_agree_on_cranfield() -> None:
    """On the abstracts of Cranfield, analysed as in search, each score is that of bm25s."""
    folder = Path(os.environ["MEMEX_EVAL_DATA"]) / "cranfield"
    analyzer = Analyzer()
    corpus, queries = (
        [
            analyzer.lexemes(json.loads(line)["text"]) or ["-"]
            for line in gzip.decompress((folder / name).read_bytes()).splitlines()
        ]
        for name in ("corpus.jsonl.gz", "queries.jsonl.gz")
    )

    compare_with_bm25s(corpus, queries[:25])
