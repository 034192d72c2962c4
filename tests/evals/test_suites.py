"""The suites that Memex brings along, played by the rules, and from what models answered."""

import pytest
from tests.kit.property_budget import sampled
from tests.kit.recorded_cases import RECORDINGS, group_recorded_cases

from memex.evals.cases import load_suite
from memex.evals.evaluation import EvaluationOptions, run_cases
from memex.evals.memex_adapter import MemexAdapter
from memex.evals.recordings import CasePlayback, PlaybackPlanner
from memex.evals.report import tables
from memex.service.planners import Planners
from memex.service.service import Service
from memex.store.database import Database

# One server is enough: contexts are the same on each.
pytestmark = pytest.mark.embedded_only


async def test_every_shipped_case_passes_or_is_known_to_fail(service: Service) -> None:
    """Neither fails a case that should pass, nor passes one that is said to fail."""
    run = await run_cases("all", sampled(load_suite("all"), 16), MemexAdapter(service), EvaluationOptions())

    assert {case.id: tables.problems_line(case) for case in run.of_status("failed")} == {}
    assert [case.id for case in run.of_status("fixed")] == []
    assert run.of_status("skipped") == []


@pytest.mark.slow
async def test_every_case_of_a_context_passes_or_is_known_to_fail(service: Service) -> None:
    """All of them in each run: they take seconds, and `memex eval run context` ends with 1 if one fails."""
    run = await run_cases("context", load_suite("context"), MemexAdapter(service), EvaluationOptions())

    assert {case.id: tables.problems_line(case) for case in run.of_status("failed")} == {}
    assert [case.id for case in run.of_status("fixed")] == []


@pytest.mark.slow
async def test_every_recorded_case_passes_or_is_known_to_fail(database: Database) -> None:
    """Of each model of which there are recordings; none of them is of another request than today's."""
    for model, cases in group_recorded_cases(RECORDINGS, load_suite("all")).items():
        player = PlaybackPlanner(model)
        service = Service(database, max_files=10_000, planning=Planners(player, player))
        options = EvaluationOptions(planner=model, surround=CasePlayback(RECORDINGS, model))

        run = await run_cases("all", sampled(cases, 4), MemexAdapter(service), options)

        assert {case.id: tables.problems_line(case) for case in run.of_status("failed")} == {}, model
        assert [case.id for case in run.of_status("fixed")] == [], model
        assert run.stale == [], model
