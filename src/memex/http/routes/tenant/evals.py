"""Runs of test cases, and cases made of calls, for administrators. Nothing is run here."""

from typing import Annotated

from fastapi import Query

from memex.http.callers import HeaderCaller, ServiceDependency
from memex.http.routers import admin_router
from memex.service.evals import case_requests, run_views
from memex.service.evals.call_cases import CaseChoice
from memex.service.evals.case_requests import KeptCaseResult
from memex.service.evals.run_views import RunComparisonResult, RunsResult
from memex.service.evals.runs import Run

router = admin_router("/evals")


@router.get("/runs", summary="List runs of test cases")
async def list_eval_runs(service: ServiceDependency, caller: HeaderCaller) -> RunsResult:
    """Return the runs that `memex eval run` kept, in the database or in the folder MEMEX_EVAL_RUNS.

    The folder belongs to the tenant `default`; administrators of other tenants see the runs of their own in the
    database alone.
    """
    return await run_views.list_runs(service, caller)


@router.post("/cases/{tool_call_id:path}", status_code=201, summary="Keep a case of a call")
async def keep_case(
    service: ServiceDependency, caller: HeaderCaller, tool_call_id: str, body: CaseChoice
) -> KeptCaseResult:
    """Write a test case of a call into the folder MEMEX_EVAL_CASES of the service, and keep the call in the log.

    The folder belongs to the tenant `default`. Nothing in it is replaced.
    """
    return await case_requests.keep_case(service, caller, tool_call_id, body)


@router.get("/runs/{run_id}", summary="Show a run of test cases")
async def read_eval_run(service: ServiceDependency, caller: HeaderCaller, run_id: str) -> Run:
    """Return a run: its figures, and of each case what was asked, what is wrong, and what came back."""
    return await run_views.read_run(service, caller, run_id)


@router.get("/runs/{run_id}/comparison", summary="Compare two runs of test cases")
async def compare_eval_runs(
    service: ServiceDependency,
    caller: HeaderCaller,
    run_id: str,
    before: Annotated[str, Query(min_length=1, max_length=500, description="The name of the earlier run.")],
) -> RunComparisonResult:
    """Return a run beside an earlier one, case by case."""
    return await run_views.compare_runs(service, caller, before, run_id)
