"""The section of the benchmark that measures the pages of the web UI, in its smallest size."""

import pytest

from memex.evals.bench.call_pages import USER, fill_log, measure_call_pages
from memex.evals.bench.pages import (
    AIM_FIRST_PAGE_KB,
    AIM_SCRIPTS_KB,
    SHOWN,
    measure_pages,
)
from memex.evals.bench.workbench import Bench, RandomText
from memex.service.service import Service
from memex.store.database import Database
from memex.store.identity import tenants


@pytest.mark.slow
async def test_pages_are_measured_and_small(database: Database, service: Service) -> None:
    """Each page answers with its times and bytes, and the first one is within its aims with everything."""
    async with database.connection() as connection:
        pid = connection.info.backend_pid
    tenant_id = await tenants.ensure_tenant(database, "bench")
    bench = Bench(service, tenant_id, pid, RandomText())

    figures, load = await measure_pages(bench, rounds=1, files=SHOWN + 20, calls=1)

    assert all(min(one.wall_ms) > 0 and min(one.python_ms) > 0 for one in figures.values())
    assert all(one.size_bytes > 2_000 for one in figures.values())
    assert load.total_bytes <= AIM_FIRST_PAGE_KB * 1_000
    assert 0 < load.script_bytes <= AIM_SCRIPTS_KB * 1_000


@pytest.mark.slow
async def test_pages_of_calls_are_measured(database: Database, service: Service) -> None:
    """Of one user and of everybody; filters that find nothing give a page that says so."""
    async with database.connection() as connection:
        pid = connection.info.backend_pid
    tenant_id = await tenants.ensure_tenant(database, "bench")
    bench = Bench(service, tenant_id, pid, RandomText())

    await fill_log(bench, 400, queries=2)
    for user in (USER, None):
        figures = await measure_call_pages(bench, user, rounds=1, repeats=1)
        sizes = {page.label: one.size_bytes for page, one in figures.items()}
        assert sizes["calls"] > 2 * sizes["calls, a status that none has"]
        assert all(min(one.wall_ms) > 0 for one in figures.values())
