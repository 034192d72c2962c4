"""The suites that Memex brings along, played by the rules, and from what models answered."""

import pytest
from tests.servers import Server

from memex.evals import tables
from memex.evals.cases import load_suite
from memex.evals.memex_adapter import MemexAdapter
from memex.evals.recordings import SHIPPED, Played, PlayingPlanner, recorded_cases
from memex.evals.run import Options, play
from memex.service.planning import Planning
from memex.service.service import Service
from memex.store.database import Database


@pytest.fixture
def server(embedded_server: Server) -> Server:
    """One server is enough: contexts are the same on each."""
    return embedded_server


async def test_every_shipped_case_passes_or_is_known_to_fail(service: Service) -> None:
    """Neither fails a case that should pass, nor passes one that is said to fail."""
    run = await play("all", load_suite("all"), MemexAdapter(service), Options())

    assert {case.id: tables.said(case) for case in run.of_status("failed")} == {}
    assert [case.id for case in run.of_status("fixed")] == []
    assert run.of_status("skipped") == []


@pytest.mark.parametrize("model", sorted(recorded_cases(SHIPPED, load_suite("all"))))
async def test_every_recorded_case_passes_or_is_known_to_fail(database: Database, model: str) -> None:
    """Of each model of which there are recordings; none of them is of another request than today's."""
    player = PlayingPlanner(model)
    service = Service(database, max_files=10_000, planning=Planning(player, player))
    cases = recorded_cases(SHIPPED, load_suite("all"))[model]
    options = Options(planner=model, during=Played(SHIPPED, model))

    run = await play("all", cases, MemexAdapter(service), options)

    assert {case.id: tables.said(case) for case in run.of_status("failed")} == {}
    assert [case.id for case in run.of_status("fixed")] == []
    assert run.stale == []
