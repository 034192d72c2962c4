"""The health of a running service, as an admin of a tenant sees it: findings with what to do, and the figures."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal

from memex import distribution
from memex.service.call import Caller, check_role
from memex.service.conversations.backfill import KindCoverage
from memex.service.health.findings import (
    REFUSED,
    Finding,
    count_embedded,
    examine_degraded,
    examine_index,
    examine_jobs,
    examine_left_alone,
    examine_login,
    examine_pgvector,
    examine_schema,
)
from memex.service.service import Service
from memex.service.spending import SpendingResult, read_spending
from memex.service.tools.context import CONTEXT
from memex.service.tools.files import FIND
from memex.service.tools.remember import REMEMBER
from memex.service.tools.tool import ResultPart
from memex.store.embedded.space import SpaceReport
from memex.store.log.hours import DAY, HourlySum, list_hours, percentile_ms
from memex.store.upkeep.health import TenantFigures, read_figures
from memex.subagent.breaker import EMBEDDING
from memex.subagent.planner import BUILTIN

SPEND_DAYS = 14
FAILED = ("failed", "denied")
MOST_FAILED_FRACTION = 0.05  # of the calls of a day; more is a problem
FEW_CALLS = 20  # of which a few failed ones say nothing
LONGEST_WAIT = timedelta(minutes=10)  # of a text in the queue
SUMS_ARE_LATE = timedelta(minutes=30)


class CheckResult(ResultPart):
    """A finding, as `memex doctor` shows it. The hint says what to do next."""

    name: str
    state: Literal["ok", "note", "problem"]
    detail: str
    hint: str


class ToolDay(ResultPart):
    """The calls of one tool in the last day; the times are within 19 %, and null without calls."""

    tool: str
    calls: int
    failed: int
    p50_ms: float | None
    p95_ms: float | None


class HourResult(ResultPart):
    """The calls of all tools in one hour (UTC), `hour` being its beginning."""

    hour: str
    calls: int
    failed: int
    p50_ms: float | None
    p95_ms: float | None


class CallsOfDay(ResultPart):
    """The calls of the last 24 hours and the running one, as they were summed from the log in the background.

    `failed` are those that failed or were denied.
    """

    hours: list[HourResult]
    tools: list[ToolDay]


class AnswersHealth(ResultPart):
    """The model behind the answers of a tool, and how many of the newest answers had to do without it.

    `model` is the planner or the embedder that the settings name; `builtin` stands for the rules, and null for
    search by words alone. While the model is left alone because it did not answer, `in_use` is `builtin` or null.
    The answers are those among the newest 1,000 calls of the last day.
    """

    tool: str
    model: str | None
    in_use: str | None
    answers: int
    degraded: int


class QueueHealth(ResultPart):
    """The texts of the tenant that wait in the queue, the oldest of them, and those that were given up."""

    waiting: int
    oldest_at: str | None
    given_up: int


class JobCount(ResultPart):
    """The number of the tenant's jobs of a kind, in a status such as todo, doing or failed."""

    kind: str
    status: str
    jobs: int


class IndexHealth(ResultPart):
    """The memories of the tenant with files; another version indexed `stale` of them or of users' conversations.

    `unmerged` passages wait to be merged into the index; search finds them all the same.
    """

    memories: int
    stale: int
    unmerged: int


class VectorHealth(ResultPart):
    """The numbers of memories that the embedder embedded whole, and that failed, with the newest error.

    `passages` counts by kind, with those of conversations and documents.
    """

    model: str
    memories: int
    embedded: int
    failed: int
    error: str | None
    passages: list[KindCoverage]


class SizeResult(ResultPart):
    """The size of some tables on disk, with their indexes."""

    name: str
    size_bytes: int


class DiskHealth(ResultPart):
    """The database on disk, of all tenants together; `free_bytes` is null where the disk is another machine's."""

    database_bytes: int
    free_bytes: int | None
    tables: list[SizeResult]


class HealthResult(ResultPart):
    """The health of the service. `ok` is false if a check found a problem.

    The figures are those of the tenant; `disk` and the checks of the database are those of the whole database.
    `oldest_call_at` is the time of the oldest call in the log.
    """

    ok: bool
    checks: list[CheckResult]
    queue: QueueHealth
    jobs: list[JobCount]
    index: IndexHealth
    vectors: VectorHealth | None
    answers: list[AnswersHealth]
    calls: CallsOfDay
    oldest_call_at: str | None
    spending: SpendingResult
    disk: DiskHealth


async def read_health(service: Service, caller: Caller) -> HealthResult:
    """Return the health of the service and the figures of the caller's tenant.

    Raises:
        Forbidden: the caller is no admin.
        StoreUnavailable: the database does not answer, or takes no writes.
    """
    check_role(caller.principal, "admin")
    await service.check_ready()
    now = datetime.now(UTC)
    model = service.embedder.name if service.embedder else None
    figures = await read_figures(service.database, caller.access.tenant_id, model)
    async with service.database.transaction(caller.access) as connection:
        sums = await list_hours(connection, caller.access, now - DAY)
    since = now.date() - timedelta(days=SPEND_DAYS - 1)
    spending = await read_spending(
        service.database, caller.access, since, daily_usd=service.planners.daily_usd
    )
    space = service.database.space.report()
    answers = _answers(service, figures)
    findings = [
        *_database_findings(service, figures, space),
        *_queue_findings(figures, now),
        *_vector_findings(figures, model),
        *_model_findings(answers, figures),
        *_call_findings(sums, figures, now),
        *_spending_findings(spending, now),
        *_erasure_findings(figures),
    ]
    return HealthResult(
        ok=all(finding.state != "problem" for finding in findings),
        checks=[CheckResult.taken_from(finding) for finding in findings],
        queue=QueueHealth(
            waiting=figures.queue["waiting"],
            oldest_at=_time(figures.queue["oldest_at"]),
            given_up=figures.queue["given_up"],
        ),
        jobs=[JobCount(**job) for job in figures.jobs],
        index=IndexHealth(memories=figures.scopes, stale=figures.stale_scopes, unmerged=figures.unmerged),
        vectors=_vectors(figures, model),
        answers=answers,
        calls=CallsOfDay(hours=_by_hour(sums, now), tools=_by_tool(sums)),
        oldest_call_at=_time(figures.oldest_call_at),
        spending=spending,
        disk=DiskHealth(
            database_bytes=figures.database.database_bytes,
            free_bytes=space.free_bytes,
            tables=[SizeResult(**table) for table in figures.table_sizes],
        ),
    )


def _database_findings(service: Service, figures: TenantFigures, space: SpaceReport) -> Iterable[Finding]:
    report = figures.database
    yield Finding("memex", distribution.version())
    yield Finding("postgres", f"{report.server_version}; it answers, and takes writes")
    if report.is_pooled:
        yield Finding("pooler", "connections lead through one, so a call takes longer", "note")
    yield examine_schema(report.schema_version, report.newest_version)
    yield examine_index(figures.stale_scopes)
    yield examine_pgvector(report)
    yield examine_jobs(report)
    yield examine_login(report, acts_by_role=service.database.acts_by_role)
    free = "" if space.free_bytes is None else f"; {space.free_bytes / (1 << 30):,.1f} GiB free on its disk"
    said = f"the database takes {report.database_bytes / (1 << 20):,.0f} MiB{free}"
    if space.level == "ample":
        yield Finding("disk", said)
    else:
        yield Finding(
            "disk",
            f"{said}; {REFUSED}",
            "problem",
            "Free some space on the disk of the database, or raise MEMEX_MAX_DATABASE_BYTES.",
        )


def _queue_findings(figures: TenantFigures, now: datetime) -> Iterable[Finding]:
    waiting, given_up = figures.queue["waiting"], figures.queue["given_up"]
    if given_up:
        yield Finding(
            "queue",
            f"{_counted(given_up, 'text was', 'texts were')} given up",
            "problem",
            "See why with `memex service queue list` or in the review; `memex service queue retry` tries again.",
        )
    if waiting and now - figures.queue["oldest_at"] > LONGEST_WAIT:
        yield Finding(
            "queue",
            f"{_counted(waiting, 'text waits', 'texts wait')}, the oldest for more than ten minutes",
            "problem",
            "Check that `memex serve` or `memex service queue work` runs, and that the model answers.",
        )
    elif waiting or not given_up:
        yield Finding("queue", f"{_counted(waiting, 'text waits', 'texts wait')} to be stored")
    failed = sum(job["jobs"] for job in figures.jobs if job["status"] == "failed")
    if failed:
        yield Finding(
            "jobs",
            f"{_counted(failed, 'job', 'jobs')} failed and are made again",
            "note",
            "The events embedding_failed and worker_failed in the process log say why.",
        )


def _vector_findings(figures: TenantFigures, model: str | None) -> Iterable[Finding]:
    found = figures.vectors
    if found is None:
        return
    said = count_embedded(str(model), figures.passages)
    if found["failed"]:
        failed = _counted(found["failed"], "memory", "memories")
        yield Finding(
            "vectors",
            f"{said}; {failed} failed with {found['error']}",
            "problem",
            "Check the embedder, its key and its address; Memex tries again by itself. "
            "`memex index status` says more.",
        )
    else:
        yield Finding("vectors", said)


def _answers(service: Service, figures: TenantFigures) -> list[AnswersHealth]:
    counts = {count.tool: count for count in figures.degraded}
    planners, embedder = service.planners, service.embedder
    models = (
        (CONTEXT.name, "context", planners.context.name, BUILTIN),
        (REMEMBER.name, "remember", planners.remember.name, BUILTIN),
        (FIND.name, EMBEDDING, embedder.name if embedder else None, None),
    )
    return [
        AnswersHealth(
            tool=tool,
            model=model,
            in_use=instead if model and service.metrics.is_left_alone(model, use) else model,
            answers=counts[tool].answers if tool in counts else 0,
            degraded=counts[tool].degraded if tool in counts else 0,
        )
        for tool, use, model, instead in models
    ]


def _model_findings(answers: Sequence[AnswersHealth], figures: TenantFigures) -> Iterable[Finding]:
    context, remember, find = answers
    yield examine_left_alone(
        "planner",
        f"context {context.model}, remember {remember.model}",
        {
            planner.model
            for planner in (context, remember)
            if planner.model and planner.in_use != planner.model
        },
    )
    if find.model is not None:
        yield examine_left_alone("embedder", find.model, {find.model} - {find.in_use})
    yield examine_degraded(figures.degraded)


def _call_findings(sums: Sequence[HourlySum], figures: TenantFigures, now: datetime) -> Iterable[Finding]:
    calls = sum(summed.calls for summed in sums)
    failed = sum(summed.calls for summed in sums if summed.status in FAILED)
    said = f"{_counted(calls, 'call', 'calls')} in the last day, of which {failed:,} failed or were denied"
    if calls >= FEW_CALLS and failed > calls * MOST_FAILED_FRACTION:
        yield Finding(
            "calls",
            said,
            "problem",
            "See them with `memex log --status failed --everyone --as-admin`; each has the code of its error.",
        )
    else:
        yield Finding("calls", said)
    if not sums and figures.oldest_call_at is not None and figures.oldest_call_at < now - SUMS_ARE_LATE:
        yield Finding(
            "sums",
            "no hour of the last day is summed: there were no calls, or no process sums the log",
            "note",
            "`memex serve` sums the log every five minutes, where the database has a queue of jobs.",
        )


def _spending_findings(spending: SpendingResult, now: datetime) -> Iterable[Finding]:
    today = sum(spent.usd for spent in spending.spent if spent.day == now.date().isoformat())
    limit = spending.daily_usd
    if limit is None:
        yield Finding("spending", f"{today:.2f} US dollars today, without a limit")
    elif today < limit:
        yield Finding("spending", f"{today:.2f} of {limit:.2f} US dollars today")
    else:
        yield Finding(
            "spending",
            f"{today:.2f} of {limit:.2f} US dollars today: no model is asked any more, and the rules answer",
            "problem",
            "Wait for the next day (UTC), or raise MEMEX_DAILY_USD.",
        )


def _erasure_findings(figures: TenantFigures) -> Iterable[Finding]:
    for user in figures.unfinished_erasures:
        yield Finding(
            "erasure",
            f"the erasure of {user!r} goes on, or was interrupted; calls for this user are refused",
            "problem",
            "`memex users erase` with this name finishes it.",
        )


def _vectors(figures: TenantFigures, model: str | None) -> VectorHealth | None:
    found = figures.vectors
    if found is None or model is None:
        return None
    return VectorHealth(
        model=model,
        memories=found["scopes"],
        embedded=found["embedded"],
        failed=found["failed"],
        error=found["error"],
        passages=[KindCoverage(**one) for one in figures.passages],
    )


def _by_hour(sums: Sequence[HourlySum], now: datetime) -> list[HourResult]:
    """Return the hours of the last day, those without calls too."""
    first = (now - DAY).astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    hours = [first + timedelta(hours=number) for number in range(25)]
    return [
        HourResult(hour=hour.isoformat(), **_figures([summed for summed in sums if summed.hour == hour]))
        for hour in hours
    ]


def _by_tool(sums: Sequence[HourlySum]) -> list[ToolDay]:
    """Return the tools that were called, the one with the most calls first."""
    tools = sorted({summed.tool for summed in sums})
    found = [
        ToolDay(tool=tool, **_figures([summed for summed in sums if summed.tool == tool])) for tool in tools
    ]
    return sorted(found, key=lambda day: -day.calls)


def _figures(sums: Sequence[HourlySum]) -> dict[str, int | float | None]:
    return {
        "calls": sum(hourly_sum.calls for hourly_sum in sums),
        "failed": sum(hourly_sum.calls for hourly_sum in sums if hourly_sum.status in FAILED),
        "p50_ms": _rounded(percentile_ms(sums, 0.5)),
        "p95_ms": _rounded(percentile_ms(sums, 0.95)),
    }


def _rounded(duration_ms: float | None) -> float | None:
    return None if duration_ms is None else round(duration_ms, 1)


def _counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
