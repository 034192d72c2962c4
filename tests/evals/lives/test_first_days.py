"""A fixed part of `python -m memex.evals.lives`: the first days of two open lives, with the built-in planner."""

from datetime import timedelta

import pytest

from memex.evals.lives.candidates import CandidateWatch
from memex.evals.lives.life import FOLDER, Life, load_life
from memex.evals.lives.measure import Figure, measure
from memex.evals.lives.play import changing_texts, play
from memex.evals.memex_adapter import MemexAdapter
from memex.service.service import Service
from memex.store.database import Database

# One server is enough: what the rules do is the same on each.
pytestmark = pytest.mark.embedded_only

DAYS = timedelta(days=3)


def first_days(name: str) -> Life:
    """Return the first days of an open life."""
    life = load_life(FOLDER / "open" / f"{name}.yaml")
    end = life.events[0].at + DAYS
    parts = {
        name: [one for one in getattr(life.content, name) if one.at < end] for name in ("texts", "questions")
    }
    return Life(life.content.model_copy(update=parts), life.is_sealed, life.sha256)


def share(figures: dict[str, Figure], name: str) -> float:
    """Return the share of a figure, which counts some cases."""
    found = figures[name].share
    assert found is not None, name
    return found


@pytest.mark.parametrize("name", ["coding-a", "sales"])
@pytest.mark.slow
async def test_the_first_days_of_open_lives(database: Database, name: str) -> None:
    """Bounds with some room below the figures of today: a fall below them is a fault, and no noise."""
    life = first_days(name)
    watch = CandidateWatch(changing_texts(life))
    service = MemexAdapter(Service(database, max_files=1_000, planning=watch.planners()))
    measured = measure(await play(life, service, watch))
    figures = {figure.name: figure for figure in measured.figures}

    for at_most, figure in (
        (0.0, "wrongly removed"),
        (0.04, "lost"),
        (0.10, "wrong rivals"),
        (0.3, "small talk kept"),
        (0.25, "true statements shown as old"),
    ):
        assert share(figures, figure) <= at_most, figure
    for at_least, figure in (
        (0.8, "kind right"),
        (1.0, "earlier statement found"),
        (1.0, "applied or shown as rivals, if found"),
    ):
        assert share(figures, figure) >= at_least, figure
