"""`python -m memex.evals.beam`: on a small chat, and without the data."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Memex
from tests.evals.beam.test_beam import published


@pytest.fixture
def beam(measurement: Callable[[str], Memex], tmp_path: Path) -> Memex:
    """The command with a data folder of one chat."""
    command = measurement("beam")
    return command.elsewhere(command.data_dir, MEMEX_EVAL_DATA=str(published(tmp_path)))


@pytest.mark.slow
def test_a_chat_is_played_and_measured(beam: Memex) -> None:
    """As a table of figures, and as JSON; what went wrong is listed; nothing is left."""
    misses = ("--misses", "knowledge update: evidence in 600 characters")
    shown, document = beam.both("--size", "100K", *misses)
    figures = document["beam-100K-01"]

    assert figures["knowledge update: evidence stored"] == {"hits": 2, "count": 2, "share": 1, "aim": None}
    assert figures["newest value in 1500 characters"]["share"] == 1
    assert "beam-100K-01: knowledge update: evidence in 600 characters" in shown
    assert not beam.data_dir.exists()


@pytest.mark.slow
def test_what_cannot_be_played_ends_with_two(beam: Memex) -> None:
    """Without the data, of a size or a chat that is missing; no figure is made up."""
    calls = [
        (beam.elsewhere(beam.data_dir, MEMEX_EVAL_DATA=""), (), "MEMEX_EVAL_DATA is not set"),
        (beam, (), "has no beam/beam-500K"),
        (beam, ("--size", "100K", "--chat", "beam-100K-02"), "There is no chat 'beam-100K-02'"),
        (beam, ("--size", "100K", "--misses", "luck"), "There is no figure 'luck'"),
    ]
    for memex, arguments, what in calls:
        done = memex.run(*arguments)
        assert done.code == 2, (arguments, done.out, done.err)
        assert what in done.err
        assert "Traceback" not in done.err
        assert done.out == ""
