"""Runs of cases, as they are kept: the outcome of each case, the figures with their intervals, and comparisons."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from psycopg.types.json import Jsonb

from memex.errors import ValidationFailed
from memex.evals import metrics
from memex.evals.metrics import Changes, Figures, PairedDifference
from memex.evals.run_files import FORMAT, RunDocument, RunFile, parse_run, read_run, write_run
from memex.store.database import Database, row, rows
from memex.store.sql import sql

LAST = "last"  # names the newest run of the same suite
PASSED = "passed"  # the measure that every case has: 1 or 0
SCORED = ("passed", "failed", "known", "fixed")  # the statuses that count

Status = Literal["passed", "failed", "known", "fixed", "skipped"]


class CaseRun(RunDocument):
    """The outcome of a case.

    Attributes:
        id: the name, such as `context/allergies-are-found`.
        kind: context, remember or sequences.
        state: the name of the state over which the case is asked.
        tags: the tags of the case.
        note: why the case exists.
        sha256: the digest of everything that decides the outcome; a case with another digest is another case.
        status: passed; failed; known, a known failure of this planner; fixed, a known failure that passed;
            skipped, when the service can tell nothing of what is expected.
        problems: what is wrong, in sentences.
        unknown: the expectations about which the service cannot tell anything.
        measures: the measures of the case, by name.
        asked: the question or the text, or those of a sequence.
        traces: for each call, what came back and what happened inside the call.
    """

    id: str
    kind: str
    state: str
    tags: tuple[str, ...] = ()
    note: str = ""
    sha256: str
    status: Status
    problems: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    measures: dict[str, float]
    asked: str
    traces: tuple[dict[str, Any], ...] = ()

    @property
    def is_passed(self) -> bool:
        """Whether the case passed."""
        return self.status in ("passed", "fixed")

    @property
    def is_scored(self) -> bool:
        """Whether the case counts in the figures."""
        return self.status in SCORED


class Run(RunFile):
    """A run of a suite.

    Attributes:
        format: the format of the document.
        run_id: the name of the run.
        suite: the name of the suite, as the caller gave it.
        started_at: the start of the run.
        duration_s: the duration of the whole run.
        service: the name of the memory service.
        planner: `builtin` or the name of a model; for another service, the name of that service.
        options: how the cases were run.
        engine: the engine of Memex. Only one and the same engine gives equal answers for equal states and requests.
        revision: the commit of the code; None outside a repository.
        states: the digest of each state, by name.
        counts: the number of cases in each group.
        figures: by group, the mean of each measure over the cases that have the measure.
        cases: the outcome of each case.
    """

    format: int = FORMAT
    run_id: str
    suite: str
    started_at: datetime
    duration_s: float
    service: str
    planner: str
    options: dict[str, Any]
    engine: str | None
    revision: str | None
    states: dict[str, str]
    counts: dict[str, int]
    figures: Figures
    cases: tuple[CaseRun, ...]

    def of_status(self, *statuses: Status) -> list[CaseRun]:
        """Return the cases with this status."""
        return [case for case in self.cases if case.status in statuses]

    @property
    def stale(self) -> list[str]:
        """The cases whose recorded answers belong to requests that differ from today's."""
        return [case.id for case in self.cases if any(trace.get("stale") for trace in case.traces)]

    @property
    def pass_rate(self) -> float:
        """The percentage of the scored cases that passed; 100 if no case is scored."""
        scored = [case.is_passed for case in self.cases if case.is_scored]
        return 100 * sum(scored) / len(scored) if scored else 100.0


class RunSummary(RunDocument):
    """One run in a list of runs."""

    run_id: str
    suite: str
    started_at: datetime
    planner: str
    cases: int
    passed: int
    failed: int
    where: str


class Comparison(RunDocument):
    """A run compared with an earlier run, over the cases that are the same in both.

    Attributes:
        run_id: the name of the earlier run.
        cases: the number of cases that are the same in both runs.
        changes: the paired difference of each measure, by group.
        regressions: the cases that passed and fail now.
        gains: the cases that failed and pass now.
        added: the cases that the earlier run does not have.
        removed: the cases that only the earlier run has.
        changed: the cases whose question, expectation or state has changed.
    """

    run_id: str
    cases: int
    changes: Changes
    regressions: tuple[str, ...]
    gains: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]


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
    earlier = {case.id: case for case in before.cases}
    later = {case.id: case for case in after.cases}
    shared = [name for name in later if name in earlier]
    if not shared:
        raise ValidationFailed(
            f"The run {before.run_id} has no case in common with this one.", hint="Compare runs of one suite."
        )
    changed = [name for name in shared if earlier[name].sha256 != later[name].sha256]
    same = [
        name for name in shared if name not in changed and earlier[name].is_scored and later[name].is_scored
    ]
    return Comparison(
        run_id=before.run_id,
        cases=len(same),
        changes={
            group: _paired_changes([(earlier[case.id], case) for case in members])
            for group, members in group_cases(later[name] for name in same).items()
        },
        regressions=tuple(name for name in same if earlier[name].is_passed and not later[name].is_passed),
        gains=tuple(name for name in same if later[name].is_passed and not earlier[name].is_passed),
        added=tuple(name for name in later if name not in earlier),
        removed=tuple(name for name in earlier if name not in later),
        changed=tuple(changed),
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
        kept = [one for one in list_runs(folder) if suite is None or one.suite == suite]
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
            found.append(_summarise(load(path), str(path)))
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


def _summarise(run: Run, where: str) -> RunSummary:
    return RunSummary(
        run_id=run.run_id,
        suite=run.suite,
        started_at=run.started_at,
        planner=run.planner,
        cases=len(run.cases),
        passed=len(run.of_status("passed", "fixed")),
        failed=len(run.of_status("failed")),
        where=where,
    )


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
