"""Runs as administrators see them: those of the folder and those in the database, one run, and two compared."""

import asyncio
import json
from typing import Literal

from pydantic import BaseModel, ConfigDict

from memex.service.evals.case_requests import case_names
from memex.service.evals.run_documents import parse_run
from memex.service.evals.run_folder import FolderListing, no_run
from memex.service.evals.runs import (
    CaseComparison,
    CaseRun,
    Run,
    RunSummary,
    Status,
    compare_cases,
    same_cases,
    summarise,
)
from memex.service.service import Caller, Service
from memex.store.access import Access
from memex.store.database import Connection, row, rows
from memex.store.identity.tenants import DEFAULT_TENANT, find_tenant

MAX_STORED = 200  # runs of the database that are listed

CaseChange = Literal["regression", "gain", "same", "added", "removed", "changed"]


class PassedOverResult(BaseModel):
    """A file of the folder that is not shown, and why."""

    model_config = ConfigDict(frozen=True)

    name: str
    reason: str


class RunsResult(BaseModel):
    """The runs, the newest first.

    `folder` is the folder of run files on the machine of the service. These belong to the tenant `default`; for
    administrators of other tenants it is null. Of its newest files, those in `passed_over` hold no run of cases.
    `more` files are older, and not looked at. `case_folder` is the folder of kept cases, whose names are in
    `cases`; null where there is none, or for whom `folder` is.
    """

    model_config = ConfigDict(frozen=True)

    runs: list[RunSummary]
    folder: str | None
    passed_over: list[PassedOverResult]
    more: int
    case_folder: str | None
    cases: list[str]


class ComparedCase(BaseModel):
    """A case in two runs. A status is null where the run does not have the case."""

    model_config = ConfigDict(frozen=True)

    id: str
    change: CaseChange
    asked: str
    before: Status | None
    after: Status | None
    before_problems: list[str]
    after_problems: list[str]


class RunComparisonResult(CaseComparison):
    """Two runs compared case by case: first what changed for the worse, then for the better, then the rest."""

    before: RunSummary
    after: RunSummary
    compared: list[ComparedCase]


async def list_runs(service: Service, caller: Caller) -> RunsResult:
    """Return the runs that are kept; raises Forbidden for agents."""

    async def stored(connection: Connection, access: Access) -> list[RunSummary]:
        found = await rows(connection, "evals/eval_run_list", tenant_id=access.tenant_id, limit=MAX_STORED)
        return [RunSummary(**record, where="database") for record in found]

    kept = await service.administer(caller, "eval_run_list", {}, stored)
    owns_folders = await _owns_folders(service, caller)
    folder, case_folder = (service.run_folder, service.case_folder) if owns_folders else (None, None)
    listing = await asyncio.to_thread(folder.list) if folder else FolderListing()
    cases = await asyncio.to_thread(case_names, case_folder) if case_folder else []
    known = {run.run_id for run in kept}
    runs = [*kept, *(run for run in listing.runs if run.run_id not in known)]
    return RunsResult(
        runs=sorted(runs, key=lambda run: (run.started_at, run.run_id), reverse=True),
        folder=str(folder.path.absolute()) if folder else None,
        passed_over=[PassedOverResult(name=one.name, reason=one.reason) for one in listing.passed_over],
        more=listing.more,
        case_folder=str(case_folder.absolute()) if case_folder else None,
        cases=cases,
    )


async def read_run(service: Service, caller: Caller, run_id: str) -> Run:
    """Return a run, with the contexts of its cases.

    Raises:
        Forbidden: for agents.
        FileNotFound: there is no such run.
        ValidationFailed: its file holds no run of cases, or is too large.
    """

    async def stored(connection: Connection, access: Access) -> str | None:
        if "\0" in run_id:
            return None
        found = await row(connection, "evals/eval_run_read", tenant_id=access.tenant_id, run_id=run_id)
        return json.dumps(found["document"]) if found else None

    document = await service.administer(caller, "eval_run_read", {"run": run_id[:200]}, stored)
    if document is not None:
        return await asyncio.to_thread(parse_run, document, run_id, Run)
    if service.run_folder is None or not await _owns_folders(service, caller):
        raise no_run(run_id)
    return await asyncio.to_thread(service.run_folder.read, run_id)


async def compare_runs(
    service: Service, caller: Caller, before_id: str, after_id: str
) -> RunComparisonResult:
    """Return a run beside an earlier one, case by case.

    Raises:
        Forbidden, FileNotFound: as `read_run`.
        ValidationFailed: likewise; or the runs have no case in common.
    """
    before = await read_run(service, caller, before_id)
    after = await read_run(service, caller, after_id)
    return await asyncio.to_thread(_compared, before, after)


async def _owns_folders(service: Service, caller: Caller) -> bool:
    """Return whether the folders of this machine are the caller's: they belong to the tenant `default`."""
    return caller.access.tenant_id == await find_tenant(service.database, DEFAULT_TENANT)


def _compared(before: Run, after: Run) -> RunComparisonResult:
    alike = compare_cases(before, after)
    earlier = {case.id: case for case in before.cases}
    later = {case.id: case for case in after.cases}
    changes: dict[str, CaseChange] = dict.fromkeys(same_cases(before, after), "same")
    named: tuple[tuple[CaseChange, tuple[str, ...]], ...] = (
        ("regression", alike.regressions),
        ("gain", alike.gains),
        ("changed", alike.changed),
        ("added", alike.added),
        ("removed", alike.removed),
    )
    for change, names in named:
        changes |= dict.fromkeys(names, change)
    order = {change: at for at, (change, _) in enumerate(named)} | {"same": len(named)}
    found = [
        _case(name, changes.get(name, "same"), earlier.get(name), later.get(name))
        for name in dict.fromkeys((*later, *earlier))
    ]
    return RunComparisonResult(
        **alike.model_dump(),
        before=summarise(before, "before"),
        after=summarise(after, "after"),
        compared=sorted(found, key=lambda case: order[case.change]),
    )


def _case(name: str, change: CaseChange, before: CaseRun | None, after: CaseRun | None) -> ComparedCase:
    newest = after or before
    return ComparedCase(
        id=name,
        change=change,
        asked=newest.asked if newest else "",
        before=before.status if before else None,
        after=after.status if after else None,
        before_problems=list(before.problems) if before else [],
        after_problems=list(after.problems) if after else [],
    )
