"""`python -m memex.evals.pairs`: on the open pairs."""

from collections.abc import Callable

import pytest
from tests.cli.conftest import Memex


@pytest.mark.slow
def test_pairs_are_told_and_measured(measurement: Callable[[str], Memex]) -> None:
    """The figures of the open pairs alone; how they are shown is tested with a life."""
    document = measurement("pairs").json("--no-sealed")
    figures = document["open"]

    assert figures["pairs: new value applied"]["count"] == 36
    assert figures["pairs: new value applied"]["share"] >= 0.88
    assert figures["pairs: digest applied"]["share"] >= 0.16
    assert figures["pairs: change applied or shown as rivals"]["share"] >= 0.86
    assert figures["pairs: removed, though both hold"]["hits"] == 0
    assert "sealed" not in document
