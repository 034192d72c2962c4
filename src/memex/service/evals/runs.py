"""Runs of cases: the outcome of each case, and which cases changed between two runs. Pure."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Field

from memex.errors import ValidationFailed
from memex.service.evals.figures import Figures
from memex.service.evals.run_documents import FORMAT, RunDocument, RunFile

PASSED = "passed"  # the measure that every case has: 1 or 0
SCORED = ("passed", "failed", "known", "fixed")  # the statuses that count

Status = Literal["passed", "failed", "known", "fixed", "skipped"]
# Far enough from the ends of the calendar to be shown in any zone.
RunTime = Annotated[
    AwareDatetime, Field(ge=datetime(1970, 1, 2, tzinfo=UTC), lt=datetime(9999, 1, 1, tzinfo=UTC))
]


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
        """Return whether the case passed."""
        return self.status in ("passed", "fixed")

    @property
    def is_scored(self) -> bool:
        """Return whether the case counts in the figures."""
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
    started_at: RunTime
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
    started_at: RunTime
    planner: str
    cases: int
    passed: int
    failed: int
    where: str


class CaseComparison(RunDocument):
    """A run compared with an earlier run, by its cases.

    Attributes:
        run_id: the name of the earlier run.
        cases: the number of cases that are the same in both runs.
        regressions: the cases that passed and fail now.
        gains: the cases that failed and pass now.
        added: the cases that the earlier run does not have.
        removed: the cases that only the earlier run has.
        changed: the cases whose question, expectation or state has changed.
    """

    run_id: str
    cases: int
    regressions: tuple[str, ...]
    gains: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]


def same_cases(before: Run, after: Run) -> list[str]:
    """Return the names of the cases that are the same in both runs, and count in both."""
    earlier = {case.id: case for case in before.cases}
    return [
        case.id
        for case in after.cases
        if case.id in earlier
        and earlier[case.id].sha256 == case.sha256
        and earlier[case.id].is_scored
        and case.is_scored
    ]


def compare_cases(before: Run, after: Run) -> CaseComparison:
    """Return which cases changed from one run to a later run.

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
    same = same_cases(before, after)
    return CaseComparison(
        run_id=before.run_id,
        cases=len(same),
        regressions=tuple(name for name in same if earlier[name].is_passed and not later[name].is_passed),
        gains=tuple(name for name in same if later[name].is_passed and not earlier[name].is_passed),
        added=tuple(name for name in later if name not in earlier),
        removed=tuple(name for name in earlier if name not in later),
        changed=tuple(name for name in shared if earlier[name].sha256 != later[name].sha256),
    )


def summarise(run: Run, where: str) -> RunSummary:
    """Return a run as a list shows it; `where` says where it is kept."""
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
