"""The two tools of an agent: memory_remember and memory_context, by way of a planner."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import Field

from memex import telemetry
from memex.errors import BudgetTooSmall, ModelUnavailable, ValidationFailed
from memex.service import references
from memex.service.meaning import Meaning, Vectors
from memex.service.moment import AsOf, Pinned, memory_at
from memex.service.tool import Arguments, Part, Result, StorableText, Tool
from memex.store import operations as log
from memex.store import queue
from memex.store.access import Access
from memex.store.database import Connection, Database
from memex.store.draft import Draft
from memex.store.operations import Answer, Call
from memex.store.records import Change
from memex.subagent import prompts, remember
from memex.subagent.context import Context, Recalled, recall
from memex.subagent.limits import Spending
from memex.subagent.planner import ContextRequest, Known, Planner, RememberPlan, RememberRequest
from memex.subagent.remember import MAX_TEXT_CHARS, Filed
from memex.subagent.selection import MAX_OMITTED
from memex.subagent.tools import MemoryTools, Moment

MIN_BUDGET = 200
MAX_BUDGET = 200_000
DEFAULT_BUDGET = 8_000
MAX_HOPS = 3
# Outcomes of a statement that write nothing, with the reasons that the answer gives.
UNWRITTEN = {"duplicate": "duplicate", "overtaken": "superseded", "absent": "absent", "nested": "nested"}
# Outcomes that write, as the answer counts them.
WRITTEN = {"added": "added", "superseded": "replaced", "removed": "removed"}

A = TypeVar("A", bound=Arguments)


@dataclass(frozen=True, slots=True)
class Work:
    """What a planned tool works with: whose call it is, the planner and its money, what queries mean, a draft."""

    database: Database
    access: Access
    planner: Planner
    meaning: Meaning
    draft: Draft
    call: Call
    spending: Spending
    prompts_dir: Path | None = None


@dataclass(frozen=True, slots=True)
class PlannedTool(Tool[A]):
    """A tool whose answer a planner finds. What a model reads about it stands in `prompts/`."""

    prompt: str
    answer: Callable[[Work, A], Awaitable[dict[str, Any]]]
    is_reading: bool

    @property
    def is_read_only(self) -> bool:
        """Whether it changes nothing."""
        return self.is_reading

    def description(self, prompts_dir: Path | None = None) -> str:
        """Return what it does, for a model; the prompts of a directory go before ours."""
        return prompts.load(self.prompt, prompts_dir).tool

    def input_schema(self, prompts_dir: Path | None = None) -> dict[str, Any]:
        """Return the JSON Schema of its arguments, with the prompt's words for those that a model sees.

        Raises:
            ValidationFailed: the prompt of the directory speaks of an argument that there is not.
        """
        schema = self.arguments.model_json_schema()
        schema.pop("description", None)
        for name, told in prompts.load(self.prompt, prompts_dir).arguments.items():
            if name not in schema["properties"]:
                raise ValidationFailed(
                    f"The prompt {self.prompt}.md speaks of an argument {name}, which {self.name} has not.",
                    hint=f"The arguments are: {', '.join(schema['properties'])}.",
                )
            schema["properties"][name]["description"] = told
        return schema


class ContextArguments(Arguments):
    """Recall what memory holds about a question."""

    query: Annotated[StorableText, Field(description="What to recall: a question or a few words.")]
    budget: Annotated[
        int,
        Field(
            le=MAX_BUDGET,
            json_schema_extra={"minimum": MIN_BUDGET},
            description="Characters that the context may have, its wrapper included.",
        ),
    ] = DEFAULT_BUDGET
    project: Annotated[
        str | None, Field(description="Recall from this project instead of all of the user's.")
    ] = None
    max_hops: Annotated[
        int, Field(ge=0, le=MAX_HOPS, description="How far links are followed from what matches.")
    ] = 1
    known_hash: Annotated[
        str | None,
        Field(
            pattern=r"^[0-9a-f]{64}$",
            description="hash of an earlier answer: the same context is not sent again.",
        ),
    ] = None
    as_of: AsOf | None = None


class SourceSpan(Part):
    """A span in code points, the end not included, with the SHA-256 of its text."""

    start: int
    end: int
    sha256: str


class Source(Part):
    """A file that stands in the context, and why; `truncated` when a passage was cut to fit."""

    path: str
    version: int
    reason: str
    linked_from: str | None
    spans: list[SourceSpan]
    truncated: bool


class OmittedSpan(Part):
    """A passage that was left out: for the budget, for its relevance, or as a duplicate."""

    path: str
    version: int
    start: int
    end: int
    reason: str


class OmittedResult(Part):
    """What was considered and left out: how many passages, and the best 20 of them."""

    count: int
    best: list[OmittedSpan]


class BudgetResult(Part):
    """How many characters the context may have, and has."""

    limit: int
    used: int


class ContextResult(Result):
    """What memory holds: verbatim spans in a wrapper, "" when there is nothing.

    `hash` names these very bytes; sent again as `known_hash`, it is answered by `not_modified` without the text.
    """

    context: str
    not_modified: bool
    sources: list[Source]
    omitted: OmittedResult
    budget: BudgetResult
    hash: str
    state: dict[str, int]
    planner: str
    degraded: str | None


async def context(work: Work, arguments: ContextArguments) -> dict[str, Any]:
    """Answer memory_context."""
    if arguments.budget < MIN_BUDGET:
        raise BudgetTooSmall(
            f"A context of {arguments.budget} characters holds nothing.",
            hint=f"The budget is {MIN_BUDGET} to {MAX_BUDGET:,} characters; without one it is {DEFAULT_BUDGET:,}.",
            minimum=MIN_BUDGET,
        )
    request = ContextRequest(arguments.query, arguments.budget, arguments.max_hops)
    access = work.access.narrowed(arguments.project)
    vectors = Vectors()
    if arguments.as_of is None:
        vectors = await work.meaning.of(arguments.query, None, work.call)
    if work.planner.is_slow:  # no connection is held while it thinks
        pinned = Pinned(work.database, access, whole=work.access, now=work.call.now)
        tools = MemoryTools(
            partial(pinned.open, arguments.as_of, vectors.by_query),
            work.call,
            spending=work.spending,
            prepare=partial(_prepare, work, vectors) if arguments.as_of is None else None,
        )
        recalled = await recall(work.planner, request, tools)
        async with work.database.transaction(access) as connection:
            return await _answered(work, arguments, recalled, pinned.state or {}, vectors, connection)
    async with _snapshot(work, access, arguments.as_of, vectors, work.call.now) as (moment, connection):
        tools = MemoryTools(lambda: nullcontext(moment), work.call)
        recalled = await recall(work.planner, request, tools)
        return await _answered(work, arguments, recalled, moment.state, vectors, connection)


async def _prepare(work: Work, vectors: Vectors, query: str) -> None:
    """Have the vector of a query that a model asks."""
    if query not in vectors.by_query and vectors.degraded is None:
        vectors.by_query.update((await work.meaning.of(query, None, work.call)).by_query)


async def _answered(
    work: Work,
    arguments: ContextArguments,
    recalled: Context,
    state: dict[str, int],
    vectors: Vectors,
    connection: Connection,
) -> dict[str, Any]:
    """Return the result of a call, and log it."""
    result = _context_result(recalled, arguments, state, vectors.degraded).body()
    logged = {name: value for name, value in result.items() if name != "context"}
    config = _config(work, recalled.planner, recalled.failure, "context")
    answer = Answer(result, arguments.canonical(), logged, config)
    await log.add(connection, work.access, work.call, status="answered", answer=answer, state=state)
    return result


def _context_result(
    recalled: Context,
    arguments: ContextArguments,
    state: dict[str, int],
    degraded: str | None,
) -> ContextResult:
    is_known = arguments.known_hash == recalled.sha256
    best = recalled.omitted[:MAX_OMITTED]
    return ContextResult(
        context="" if is_known else recalled.text,
        not_modified=is_known,
        sources=[_source(list(group)) for _, group in groupby(recalled.recalled, key=_file)],
        omitted=OmittedResult(
            count=len(recalled.omitted),
            best=[
                OmittedSpan(
                    path=omitted.reference.path,
                    version=omitted.reference.version,
                    start=omitted.reference.span[0],
                    end=omitted.reference.span[1],
                    reason=omitted.reason,
                )
                for omitted in best
            ],
        ),
        budget=BudgetResult(limit=arguments.budget, used=len(recalled.text)),
        hash=recalled.sha256,
        state=state,
        planner=recalled.planner,
        degraded=_degraded(recalled.failure) or degraded,
    )


def _file(recalled: Recalled) -> tuple[str, int]:
    return recalled.choice.reference.path, recalled.choice.reference.version


def _source(spans: list[Recalled]) -> Source:
    first = spans[0].choice
    return Source(
        path=first.reference.path,
        version=first.reference.version,
        reason=first.reason,
        linked_from=first.linked_from,
        spans=[
            SourceSpan(
                start=span.choice.reference.span[0], end=span.choice.reference.span[1], sha256=span.sha256
            )
            for span in spans
        ],
        truncated=any(span.choice.truncated for span in spans),
    )


class RememberArguments(Arguments):
    """Remember what a text says."""

    text: Annotated[
        StorableText,
        Field(min_length=1, max_length=MAX_TEXT_CHARS, description="What to remember, in plain sentences."),
    ]
    project: Annotated[str | None, Field(description="The project that the text is about.")] = None
    dry_run: Annotated[bool, Field(description="Show what would be written, and write nothing.")] = False
    wait: Annotated[
        bool,
        Field(
            description="Answer when it is written. false answers `queued` at once, and a worker of the service "
            "writes it; the same call again, under its tool call id, says what became of it."
        ),
    ] = True

    def canonical(self) -> dict[str, Any]:
        """Return the arguments but `wait`: who did not wait may come back and wait."""
        return self.model_dump(mode="json", exclude_defaults=True, exclude={"wait"})


class WriteMade(Part):
    """What was written to one file, or would be: the version, in words why, and the difference."""

    path: str
    operation: str
    version: int
    reason: str
    diff: str


class SkippedResult(Part):
    """A part of the text that was not written, by its span, and why; `known_in` holds it already.

    `duplicate`, `superseded` by another part; `small_talk`, `question`, `instruction` to the reader, `assistant`'s
    words, `heading`, `empty`. Where a model planned also `unsure`, `secret`, `other`; `limit`: one edit too many;
    `invalid`: its edit could not be carried out; `absent`: what the text takes back is not there; `nested`: it is,
    with more below it.
    """

    start: int
    end: int
    reason: str
    known_in: str | None


class RememberResult(Result):
    """What became of a text. `status` is committed, nothing, dry_run, or queued: nothing became of it yet."""

    status: str
    writes: list[WriteMade]
    skipped: list[SkippedResult]
    planner: str
    degraded: str | None


async def remembered(work: Work, arguments: RememberArguments) -> dict[str, Any]:
    """Answer memory_remember: one draft, one commit."""
    if not arguments.wait:
        return await _queued(work, arguments)
    if not arguments.dry_run and (first := await work.draft.first_result(work.call)) is not None:
        return await _repeated(work, first)
    project = arguments.project if arguments.project is not None else work.access.project
    request = RememberRequest(arguments.text, project, work.call.now)
    # Each operation looks for itself: no connection is held while the text is read and thought about.
    tools = MemoryTools(
        partial(_fresh_moment, work, work.access.narrowed(project)), work.call, spending=work.spending
    )
    plan = await work.planner.plan_remember(request, tools)
    staged = remember.stage(work.draft, plan, work.call.now.date())

    def answer(changes: tuple[Change, ...]) -> Answer:
        return _remember_answer(arguments, plan, remember.filed(staged, changes), work)

    if arguments.dry_run:
        made = answer(await work.draft.preview())
        state = work.call.inner[-1].state if work.call.inner else None
        async with work.database.transaction(work.access) as connection:
            await log.add(connection, work.access, work.call, status="dry_run", answer=made, state=state)
        return made.result
    with telemetry.operation(telemetry.COMMIT, {}) as recorded:
        commit = await work.draft.commit(work.call, answer)
        written = [change.path for change in commit.changes if change.changed]
        recorded.operation_ended({"writes": written}, None)
    return await _repeated(work, commit.result) if commit.is_repeat else commit.result


async def _queued(work: Work, arguments: RememberArguments) -> dict[str, Any]:
    """Answer a caller who does not wait: the call is in the queue, or what became of it since."""
    if arguments.dry_run:
        raise ValidationFailed("A dry run is never queued.", hint="Leave dry_run or wait out.")
    if not work.database.has_jobs:
        raise ValidationFailed(
            "This database has no queue.",
            hint="Leave wait out, or send true; `memex doctor` says what a queue needs.",
        )
    work.access.searched(arguments.project)  # refuses a project that is none of the user's
    result = RememberResult(
        status="queued", writes=[], skipped=[], planner=work.planner.name, degraded=None
    ).body()
    return await queue.accept(
        work.database, work.access, work.call, Answer(result, arguments.canonical(), result)
    )


async def _repeated(work: Work, first: dict[str, Any]) -> dict[str, Any]:
    async with work.database.transaction(work.access) as connection:
        await log.add(connection, work.access, work.call, status="repeated")
    return first


def _remember_answer(
    arguments: RememberArguments, plan: RememberPlan, done: list[Filed], work: Work
) -> Answer:
    written = [(file, file.change) for file in done if file.change is not None and file.change.changed]
    status = "dry_run" if arguments.dry_run else "committed" if written else "nothing"
    skipped = [
        SkippedResult(start=skip.start, end=skip.end, reason=skip.reason, known_in=None)
        for skip in plan.skipped
    ]
    skipped += [_known(known) for known in plan.known]
    skipped += [
        SkippedResult(
            start=statement.start,
            end=statement.end,
            reason=UNWRITTEN[outcome.action],
            known_in=references.new_name(file.change)
            if file.change and outcome.action == "duplicate"
            else None,
        )
        for file in done
        for statement, outcome in file.settled
        if outcome.action in UNWRITTEN
    ]
    result = RememberResult(
        status=status,
        writes=[
            WriteMade(
                path=change.path,
                operation=change.operation,
                version=change.version,
                reason=_reason(file),
                diff=references.diff(change),
            )
            for file, change in written
        ],
        skipped=sorted(skipped, key=lambda skip: skip.start),
        planner=plan.planner,
        degraded=_degraded(plan.failure),
    ).body()
    logged = result
    if not arguments.dry_run:  # of a dry run no revision holds the new text
        diffs = [{"diff": references.of_diff(change)} for _, change in written]
        logged = result | {"writes": [w | d for w, d in zip(result["writes"], diffs, strict=True)]}
    return Answer(
        result, arguments.canonical(), logged, _config(work, plan.planner, plan.failure, "remember")
    )


def _degraded(failure: str | None) -> str | None:
    """Return the code of an answer that a model should have planned and did not."""
    return None if failure is None else ModelUnavailable.code


def _config(work: Work, planner: str, failure: str | None, prompt: str) -> dict[str, Any]:
    """Return what is logged beside the arguments: who planned, and the version of the words in the schema.

    Where a model should have planned, also which, how it was asked, what it might use, and why it did not.
    """
    version = prompts.load(prompt, work.prompts_dir).version
    config = {"planner": planner, "prompt": f"{prompt}-{version}"} | work.planner.config
    return config if failure is None else config | {"failure": failure}


def _known(known: Known) -> SkippedResult:
    return SkippedResult(
        start=known.statement.start,
        end=known.statement.end,
        reason="duplicate",
        known_in=f"{known.reference.path}@{known.reference.version}",
    )


def _reason(file: Filed) -> str:
    """Say in words what became of a file: `2 added, 1 replaced`."""
    actions = [outcome.action for _, outcome in file.settled]
    counts = {name: sum(action == done for action in actions) for done, name in WRITTEN.items()}
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count)


@asynccontextmanager
async def _snapshot(
    work: Work,
    access: Access,
    as_of: AsOf | None = None,
    vectors: Vectors | None = None,
    now: datetime | None = None,
) -> AsyncIterator[tuple[Moment, Connection]]:
    """One snapshot of memory, as it stands now or stood at a moment, and its connection."""
    async with work.database.transaction(access, snapshot=True) as connection:
        by_query = vectors.by_query if vectors else None
        memory = await memory_at(connection, access, as_of, now=now, whole=work.access, vectors=by_query)
        yield Moment(memory, await memory.state(access.scopes)), connection


@asynccontextmanager
async def _fresh_moment(work: Work, access: Access) -> AsyncIterator[Moment]:
    """A snapshot for one operation."""
    async with _snapshot(work, access) as (moment, _):
        yield moment


TOOLS: tuple[PlannedTool[Any], ...] = (
    PlannedTool("memory_remember", RememberArguments, RememberResult, "remember", remembered, False),
    PlannedTool("memory_context", ContextArguments, ContextResult, "context", context, True),
)


def check_prompts(directory: Path) -> None:
    """Refuse a directory of prompts that cannot be used.

    Raises:
        ValidationFailed: naming the variable, and the file with what is wrong in it.
    """
    if not directory.is_dir():
        raise ValidationFailed(
            f"MEMEX_PROMPTS_DIR: there is no folder {directory}.", hint="Correct or unset it."
        )
    try:
        for tool in TOOLS:
            tool.input_schema(directory)
        prompts.load_text("block", directory)
    except ValidationFailed as error:
        raise ValidationFailed(f"MEMEX_PROMPTS_DIR: {error.message}", hint=error.hint) from None
