"""The published figures come out of the pure functions of bm25.py."""

import os
from pathlib import Path

import pytest
import Stemmer

from memex.evals.plain_analysis import STOP_WORDS, plain_lexemes
from memex.evals.retrieval import reference, tables

EVAL_DATA = os.environ.get("MEMEX_EVAL_DATA")


def words(text: str, stop_list: str = "Lucene") -> list[str]:
    """Return the words of a text by the plain analysis."""
    return plain_lexemes(text, STOP_WORDS[stop_list], Stemmer.Stemmer("english"))


def test_stop_lists_have_their_words() -> None:
    """33 and 127."""
    assert {name: len(found) for name, found in STOP_WORDS.items()} == {
        "Lucene": 33,
        "Postgres": 127,
    }


def test_analysis_is_the_plain_one() -> None:
    """A final 's goes, what an apostrophe still joins is split; stop words go, then endings."""
    assert words("Who adopted Bert's dogs? The o'clock_rule") == [
        "who",
        "adopt",
        "bert",
        "dog",
        "o",
        "clock",
        "rule",
    ]
    assert words("Who adopted what?", "Postgres") == ["adopt"]


def test_reference_ranks_small_collections(retrieval_data: Path) -> None:
    """Both relevant documents of one query, one of which shares no word with it; the one of the other first."""
    figures = reference.reproduce(retrieval_data, ["cranfield"])

    found = {figure.measure: figure.found for figure in figures if figure.setting == reference.LUCENE}
    assert found["recall@100"] == pytest.approx(75)
    assert found["map@1000"] == pytest.approx((0.5 / 2 + 1) / 2 * 100)
    assert not any(figure.agrees for figure in figures if figure.measure == "map@1000")
    assert "differs" in {row[-1] for row in tables.reference(figures).rows}


SLOW = dict.fromkeys(("scifact", "locomo", "cranfield", "beam"), pytest.mark.slow)


@pytest.mark.skipif(EVAL_DATA is None, reason="MEMEX_EVAL_DATA names no folder of real data")
@pytest.mark.parametrize(
    "suite", [pytest.param(suite, marks=SLOW.get(suite, ())) for suite in reference.SUITES]
)
@pytest.mark.slow
def test_published_figures_come_out(suite: str) -> None:
    """Each within 0.3 points: LoCoMo, BEAM, SciFact and Cranfield, with either stop list."""
    figures = reference.reproduce(Path(str(EVAL_DATA)), [suite])

    assert len(figures) >= 6
    assert [figure for figure in figures if not figure.agrees] == []
