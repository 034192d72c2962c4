"""Statements that are all true at the same time: none takes another one out, and what is said again is known."""

from itertools import islice
from pathlib import Path

import pytest

from memex.evals.memex_adapter import MemexAdapter
from memex.evals.serving import ServingOptions, open_service
from memex.evals.true_statements.sets import load_lines, load_sets, removed_pairs, standing_after, views_of
from memex.evals.true_statements.told import TOLD, USER, tell
from memex.service.evals.states import Manifest, State
from memex.subagent.planner import BUILTIN

EACH_SET = 4  # new statements of a set that are compared with all others of it


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_no_true_statement_takes_another_one_out(every: int) -> None:
    """A fixed sample of all pairs, of each language; `python -m memex.evals.true_statements.compare` takes all."""
    sets, pairs = load_sets(), 0
    tried = sorted(sets, key=lambda one: one.language)[::every]
    for number, one in enumerate(tried):
        views = views_of(one)
        newer = list(islice(views, number, None, len(views) // EACH_SET))[:EACH_SET]
        pairs += len(newer) * (len(views) - 1)
        assert list(removed_pairs(newer, views)) == [], one.name

    assert len(sets) == 20
    assert {len(one.lines) for one in sets} == {250}
    assert {one.language for one in tried} == {one.language for one in sets}
    assert pairs >= len(tried) * EACH_SET * 240


def test_of_a_line_of_two_facts_the_other_one_stays() -> None:
    """Beside the newer statement, in its own line; in most of the lines the older value goes."""
    lines = load_lines()
    lost, changed = [], 0
    for line in lines:
        standing, is_changed = standing_after(line)
        changed += is_changed
        if line.stays.casefold() not in standing.casefold():
            lost.append((line.older, standing))

    assert lost == []
    assert len({line.older for line in lines}) == 200
    assert changed >= 120


@pytest.mark.slow
async def test_all_statements_of_a_set_survive_each_other() -> None:
    """They are told one after the other; told once more, no line comes or goes, and a decision may move."""
    one = next(found for found in load_sets() if found.name == "09.en")
    manifest = Manifest(
        name="true",
        purpose="Nothing is known yet.",
        language=one.language,
        at=TOLD,
        users=(USER,),
        projects={},
    )
    async with (
        open_service(ServingOptions(model=BUILTIN, language=one.language)) as service,
        MemexAdapter(service).place(State(Path(), manifest, {})) as memory,
    ):
        told = await tell(one, memory)
        before = await memory.files(USER)
        stored = [line for line in one.lines if line not in told.unstored]
        again = [await memory.remember(USER, line, project=None, now=TOLD) for line in stored]
        after = await memory.files(USER)

    assert told.gone == ()
    assert len(told.unstored) <= 3
    assert [answer.status for answer in again].count("nothing") >= 240
    assert {path: sorted(text.splitlines()) for path, text in after.items()} == {
        path: sorted(text.splitlines()) for path, text in before.items()
    }
