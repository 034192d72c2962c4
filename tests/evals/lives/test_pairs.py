"""Pairs of statements: the shipped ones are sound, and what is measured is what one would count by hand."""

import gzip
import hashlib
from collections import Counter

import pytest
from tests.evals.lives.test_lives import Scripted

from memex.evals.lives.life import FOLDER, SUMS
from memex.evals.lives.pairs import FILES, StatementPair, load_pairs, measure_pairs

PAIRS = [
    StatementPair(
        id="p1", lang="en", kind="value", older="The fare is 3.", newer="The fare is 4.", truth="replaces"
    ),
    StatementPair(
        id="p2", lang="en", kind="both", older="Ole is a cat.", newer="Finn is a cat.", truth="both"
    ),
]


def test_the_shipped_pairs_are_what_their_writer_sealed() -> None:
    """A hundred each, of every kind; the digests are of the texts, compressed or not."""
    sums = dict(reversed(line.split()) for line in SUMS.read_text().splitlines())
    for name, path in FILES.items():
        data = path.read_bytes()
        text = gzip.decompress(data) if path.suffix == ".gz" else data
        kinds = Counter(pair.kind for pair in load_pairs(path))

        assert sums[str(path.relative_to(FOLDER)).removesuffix(".gz")] == hashlib.sha256(text).hexdigest(), (
            name
        )
        assert kinds == {"value": 36, "digest": 30, "closing": 10, "both": 24}, name


@pytest.mark.parametrize("keeps", [True, False])
async def test_a_service_that_changes_nothing_applies_nothing(keeps: bool) -> None:
    """Nor does one that stores nothing: what was never there cannot be replaced."""
    measured = await measure_pairs("two", PAIRS, Scripted(keeps=keeps))
    figures = {figure.name: (figure.hits, figure.count) for figure in measured.figures if figure.count}

    assert figures["pairs: new value applied"] == (0, 1)
    assert figures["pairs: removed, though both hold"] == (0, 1)
