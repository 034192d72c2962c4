"""Runs of cases as they are kept: what became of each case, the figures with their intervals, and comparisons."""

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
    """What became of a case.

    Attributes:
        id: such as `context/allergies-are-found`.
        kind: context, remember or sequences.
        state: the name of the state that it asks.
        tags: of the case.
        note: why there is the case.
        sha256: of all that decides its outcome: a case with another one is another case.
        status: passed; failed; known, a failure that is known of this planner; fixed, one that is known and passed;
            skipped, where the service cannot be asked about anything that is expected.
        problems: what is wrong, in sentences.
        unknown: the expectations that the service cannot be asked about.
        measures: its figures.
        asked: the question or the text, or those of a sequence.
        traces: of each call: what came back, and what happened inside.
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
        """Whether nothing was wrong."""
        return self.status in ("passed", "fixed")

    @property
    def is_scored(self) -> bool:
        """Whether it counts."""
        return self.status in SCORED


class Run(RunFile):
    """A run of a suite.

    Attributes:
        format: of the document.
        run_id: its name.
        suite: that was run, as it was named.
        started_at: when.
        duration_s: of all of it.
        service: the name of the memory service.
        planner: what planned: builtin, or a model; the service's name, of another one.
        options: how it was run.
        engine: of Memex, by which alone the same state and request give the same answer.
        revision: the commit of the code, where there is one.
        states: the digest of each state, by name.
        counts: the cases of each group.
        figures: the mean of each measure over the cases that have it, by group.
        cases: what became of each.
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
        """Return the cases that ended so."""
        return [case for case in self.cases if case.status in statuses]

    @property
    def stale(self) -> list[str]:
        """The cases that were played from answers to other requests than today's."""
        return [case.id for case in self.cases if any(trace.get("stale") for trace in case.traces)]

    @property
    def pass_rate(self) -> float:
        """The percentage of the cases that count which passed; 100 of none."""
        scored = [case.is_passed for case in self.cases if case.is_scored]
        return 100 * sum(scored) / len(scored) if scored else 100.0


class RunSummary(RunDocument):
    """A run in a list."""

    run_id: str
    suite: str
    started_at: datetime
    planner: str
    cases: int
    passed: int
    failed: int
    where: str


class Comparison(RunDocument):
    """A run beside an earlier one, over the cases that both have and that are the same in both.

    Attributes:
        run_id: of the earlier one.
        cases: how many both have.
        changes: what became of each measure, by group.
        regressions: the cases that passed and fail now.
        gains: those that failed and pass now.
        added: those that the earlier one has not.
        removed: those that only the earlier one has.
        changed: those whose question, expectation or state is another one.
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
    """Return the name of a run, which sorts by its time among those of its suite."""
    return f"{suite_slug(suite)}-{started_at.astimezone(UTC):%Y%m%dT%H%M%S%fZ}"


def suite_slug(suite: str) -> str:
    """Return how runs of a suite are called."""
    return re.sub(r"[^\w.-]+", "-", Path(suite).stem).strip("-") or "suite"


def group_cases(cases: Iterable[CaseRun]) -> dict[str, list[CaseRun]]:
    """Return the cases that count: all, those of each kind, and those of each tag, the most frequent first."""
    scored = (case for case in cases if case.is_scored)
    return metrics.group_items(scored, lambda case: (case.kind, *case.tags))


def estimate_figures(cases: Iterable[CaseRun]) -> Figures:
    """Return the mean of each measure over the cases of each group that have it."""
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
    """Return how many cases each group has."""
    return {group: len(members) for group, members in group_cases(cases).items()}


def compare(before: Run, after: Run) -> Comparison:
    """Return what became of the figures and of each case from one run to a later one.

    Raises:
        ValidationFailed: they have no case in common.
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
    """Write a run into a folder, and return its path; raises ValidationFailed where that cannot be."""
    return write_run(run, folder / f"{run.run_id}.json")


def load(path: Path) -> Run:
    """Return a run that was saved; raises ValidationFailed when the file is missing or holds no run of cases."""
    return read_run(path, Run)


def find(name: str, folder: Path, suite: str | None = None) -> Run | None:
    """Return a run by its name in a folder, or its path, or by `last` the newest of a suite; None for none."""
    if name == LAST:
        kept = [one for one in list_runs(folder) if suite is None or one.suite == suite]
        return load(Path(kept[0].where)) if kept else None
    for path in (Path(name), folder / f"{name}.json"):
        if path.is_file():
            return load(path)
    return None


def list_runs(folder: Path) -> list[RunSummary]:
    """Return the runs of a folder, the newest first; what is none is passed over."""
    found = []
    for path in folder.glob("*.json"):
        try:
            found.append(_summarise(load(path), str(path)))
        except ValidationFailed:
            continue
    return sorted(found, key=lambda run: run.started_at, reverse=True)


async def store(database: Database, tenant_id: int, run: Run) -> None:
    """Keep a run in the database, in the tenant's name. For maintenance."""
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
    """Return a run that the database keeps; by `last` none. For maintenance."""
    async with database.maintenance() as connection:
        found = await row(connection, "evals/eval_run_read", tenant_id=tenant_id, run_id=run_id)
    return parse_run(json.dumps(found["document"]), run_id, Run) if found else None


async def list_stored(database: Database, tenant_id: int, *, limit: int) -> list[RunSummary]:
    """Return the runs that the database keeps, the newest first. For maintenance."""
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
    """Return what became of each measure, over the cases that have it in both runs."""
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
    """Return JSON that Postgres takes: it has no NUL."""
    return json.dumps(document).replace("\\u0000", "�")
