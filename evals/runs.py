"""Runs of cases, as they are kept: the outcome of each case, the figures with their intervals, and comparisons."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from psycopg.types.json import Jsonb

from memex.errors import ValidationFailed
from memex.evals import metrics
from memex.evals.run_files import read_run, write_run
from memex.service.evals.figures import Changes, Figures, PairedDifference
from memex.service.evals.run_documents import parse_run
from memex.service.evals.runs import (
    CaseComparison,
    CaseRun,
    Run,
    RunSummary,
    compare_cases,
    same_cases,
    summarise,
)
from memex.store.database import Database, row, rows
from memex.store.sql import sql

LAST = "last"  # names the newest run of the same suite


class Comparison(CaseComparison):
    """A run compared with an earlier run, over the cases that are the same in both.

    Attributes:
        changes: the paired difference of each measure, by group.
    """

    changes: Changes


def new_id(suite: str, started_at: datetime) -> str:
    """Return a new name for a run. Names of the runs of one suite sort by time."""
    return f"{suite_slug(suite)}-{started_at.astimezone(UTC):%Y%m%dT%H%M%S%fZ}"


def suite_slug(suite: str) -> str:
    """Return the part of a run's name that stands for the suite."""
    return re.sub(r"[^\w.-]+", "-", Path(suite).stem).strip("-") or "suite"


def group_cases(cases: Iterable[CaseRun]) -> dict[str, list[CaseRun]]:
    """Return the scored cases in groups: all, each kind, and each tag, the most frequent tag first."""
    scored = (case for case in cases if case.is_scored)
    return metrics.group_items(scored, lambda case: (case.kind, *case.tags))


def estimate_figures(cases: Iterable[CaseRun]) -> Figures:
    """Return for each group the mean of each measure, over the cases that have the measure."""
    return {
        group: {
            name: metrics.estimate_means(
                [{name: case.measures[name]} for case in members if name in case.measures]
            )[name]
            for name in _measure_names(members)
        }
        for group, members in group_cases(cases).items()
    }


def count_groups(cases: Iterable[CaseRun]) -> dict[str, int]:
    """Return the number of cases in each group."""
    return {group: len(members) for group, members in group_cases(cases).items()}


def compare(before: Run, after: Run) -> Comparison:
    """Return the changes of the figures and of the cases from one run to a later run.

    Raises:
        ValidationFailed: the runs have no case in common.
    """
    compared = compare_cases(before, after)
    earlier = {case.id: case for case in before.cases}
    later = {case.id: case for case in after.cases}
    return Comparison(
        **compared.model_dump(),
        changes={
            group: _paired_changes([(earlier[case.id], case) for case in members])
            for group, members in group_cases(later[name] for name in same_cases(before, after)).items()
        },
    )


def save(run: Run, folder: Path) -> Path:
    """Write a run into a folder and return its path; raises ValidationFailed if the folder cannot be written."""
    return write_run(run, folder / f"{run.run_id}.json")


def load(path: Path) -> Run:
    """Return a saved run; raises ValidationFailed if the file is missing or holds no run of cases."""
    return read_run(path, Run)


def find(name: str, folder: Path, suite: str | None = None) -> Run | None:
    """Return the run of this name in a folder or of this path; `last` means the newest run of a suite, or None."""
    if name == LAST:
        kept = [summary for summary in list_runs(folder) if suite is None or summary.suite == suite]
        return load(Path(kept[0].where)) if kept else None
    for path in (Path(name), folder / f"{name}.json"):
        if path.is_file():
            return load(path)
    return None


def list_runs(folder: Path) -> list[RunSummary]:
    """Return the runs of a folder, the newest first. Other files are passed over."""
    found = []
    for path in folder.glob("*.json"):
        try:
            found.append(summarise(load(path), str(path)))
        except ValidationFailed:
            continue
    return sorted(found, key=lambda run: run.started_at, reverse=True)


async def store(database: Database, tenant_id: int, run: Run) -> None:
    """Store a run in the database, for the tenant. Uses maintenance."""
    async with database.maintenance() as connection:
        await connection.execute(
            sql("evals/eval_run_add"),
            {
                "tenant_id": tenant_id,
                "run_id": run.run_id,
                "suite": run.suite,
                "started_at": run.started_at,
                "document": Jsonb(run.model_dump(mode="json"), dumps=_dumps),
            },
        )


async def load_stored(database: Database, tenant_id: int, run_id: str) -> Run | None:
    """Return the run of this name from the database, or None; `last` is not a name here. Uses maintenance."""
    async with database.maintenance() as connection:
        found = await row(connection, "evals/eval_run_read", tenant_id=tenant_id, run_id=run_id)
    return parse_run(json.dumps(found["document"]), run_id, Run) if found else None


async def list_stored(database: Database, tenant_id: int, *, limit: int) -> list[RunSummary]:
    """Return the runs in the database, the newest first. Uses maintenance."""
    async with database.maintenance() as connection:
        found = await rows(connection, "evals/eval_run_list", tenant_id=tenant_id, limit=limit)
    return [RunSummary(**record, where="database") for record in found]


def _measure_names(cases: Sequence[CaseRun]) -> list[str]:
    return list(dict.fromkeys(name for case in cases for name in case.measures))


def _paired_changes(pairs: Sequence[tuple[CaseRun, CaseRun]]) -> dict[str, PairedDifference]:
    """Return the paired difference of each measure, over the cases that have it in both runs."""
    found: dict[str, PairedDifference] = {}
    for name in _measure_names([after for _, after in pairs]):
        both = [
            (before.measures[name], after.measures[name])
            for before, after in pairs
            if name in before.measures and name in after.measures
        ]
        old: list[Mapping[str, float]] = [{name: value} for value, _ in both]
        found |= metrics.paired_differences(old, [{name: value} for _, value in both])
    return found


def _dumps(document: Any) -> str:
    """Return the value as JSON without NUL characters, which Postgres refuses."""
    return json.dumps(document).replace("\\u0000", "�")
