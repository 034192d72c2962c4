"""memory_context: what memory holds about a question, chosen by a planner.

The range of the budget is checked here (`ContextArguments` and `context`). That no context is longer than the
budget is guaranteed by `memex.subagent.context.recall.recall`, whatever planner chooses the passages.
"""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime
from functools import partial
from itertools import groupby
from typing import Annotated, Any, Literal

from pydantic import Field

from memex.errors import BudgetTooSmall
from memex.service.query_embedding import QueryEmbeddings
from memex.service.snapshots import AsOf, Consistency, MemoryView, parse_time
from memex.service.tools.planned_tool import PlannedTool, degraded_code, planning_record
from memex.service.tools.tool import LEFT_OUT, Arguments, ResultPart, StorableText, ToolResult
from memex.service.tools.tool_context import ToolContext
from memex.settings import Band, IncludedName
from memex.store.log.call import CallAnswer
from memex.store.snapshot.reads import Reads
from memex.subagent.context.recall import RecalledContext, RecalledSpan, recall
from memex.subagent.context.selection import MAX_OMITTED
from memex.subagent.included import FoundSection
from memex.subagent.memory_tools import MAX_PINNED, MemoryTools
from memex.subagent.planner import ContextRequest

MIN_BUDGET = 200
MAX_BUDGET = 200_000
DEFAULT_BUDGET = 8_000
MAX_HOPS = 3
MIN_CONFIDENCE = "min_confidence"  # in the log: the calls of older versions have none, and were not judged

PlannerChoice = Annotated[
    Literal["builtin"] | None,
    Field(description="builtin: the rules choose, also where the service has a model."),
]


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
    planner: PlannerChoice = None
    min_confidence: Annotated[
        Band | None,
        Field(
            description="The lowest confidence at which the context holds what was found: none, weak, fair or "
            "strong. By default what MEMEX_CONTEXT_MIN_CONFIDENCE says."
        ),
    ] = None
    include: Annotated[
        list[IncludedName] | None,
        Field(
            description="What the context holds beside memory, if it answers better: conversations, documents. "
            "By default what MEMEX_CONTEXT_INCLUDE names; an empty list for nothing."
        ),
    ] = None


class SourceSpan(ResultPart):
    """A span in code points, the end not included, with the SHA-256 of its text, and why it is there.

    `outdated` is there, and true, if the context marks the span as `earlier, may be out of date`.

    | why | meaning |
    | --- | --- |
    | words | it shares a word with the question |
    | meaning | it means something near to the question |
    | link, backlink | a file that was found links to its file, or its file links to one |
    | neighbour | it stands, or was told, beside what was found |
    | pinned | its file is pinned |
    | list | the question asks for a list that it is in |
    | recent | the memory is small, and shown whole |
    | conversation, document | it was included beside memory |
    | any other text | a model picked it, and says why |
    """

    start: int
    end: int
    sha256: str
    why: str = ""  # in answers of old versions
    outdated: Annotated[bool, Field(exclude_if=lambda is_outdated: not is_outdated)] = False


class Source(ResultPart):
    """A file that stands in the context, and how it was found; `truncated` when a passage was cut to fit.

    With the reason `conversation` it is a message: `conversations/ID#number`, whose version is always 1. With the
    reason `document` it is a document: `documents/projects/shop/repo/docs/a.md`.
    """

    path: str
    version: int
    reason: str
    linked_from: str | None
    spans: list[SourceSpan]
    truncated: bool


class OmittedSpan(ResultPart):
    """A passage that was left out: for the budget, for its relevance, as a duplicate, or since nothing fits."""

    path: str
    version: int
    start: int
    end: int
    reason: str


class OmittedResult(ResultPart):
    """The passages that were considered and left out: their number, the best 20, and 20 included ones."""

    count: int
    best: list[OmittedSpan]


class BudgetResult(ResultPart):
    """The characters that the context may have, and has."""

    limit: int
    used: int


class IncludedResult(ResultPart):
    """A kind that was included beside memory: of how many of its passages the context holds lines.

    `left_out` says why it was not searched: `as_of`, since it has no past.
    """

    name: str
    passages: int
    left_out: str | None


class ConfidenceResult(ResultPart):
    """The confidence that memory says something about the question: a score from 0 to 1, and its band.

    `lifted_by` says why the band is higher than the score says: `fair` for `intent`, `days`, `path`,
    `stop_words`, `long_question`, `remark`, `language` or `model`, and `weak` for `name` or `not_embedded`.
    """

    score: float
    band: Band
    lifted_by: Annotated[str | None, LEFT_OUT] = None


class ContextResult(ToolResult):
    """The context from memory: verbatim spans in a wrapper, "" when there is nothing.

    `hash` names these very bytes; sent again as `known_hash`, it is answered by `not_modified` without the text.
    `included` is there if something was to be included beside memory. If the band of `confidence` is lower than the
    call allows, the context says that nothing is remembered, and holds pinned files alone.
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
    confidence: Annotated[ConfidenceResult | None, LEFT_OUT] = None
    included: Annotated[list[IncludedResult] | None, LEFT_OUT] = None


async def context(work: ToolContext, arguments: ContextArguments) -> dict[str, Any]:
    """Answer memory_context."""
    if arguments.budget < MIN_BUDGET:
        raise BudgetTooSmall(
            f"A context of {arguments.budget} characters holds nothing.",
            hint=f"The budget is {MIN_BUDGET} to {MAX_BUDGET:,} characters; without one it is {DEFAULT_BUDGET:,}.",
            minimum=MIN_BUDGET,
        )
    narrowed = work.snapshots.narrowed(arguments.project)
    names = work.sections.names(arguments.include)
    is_past = arguments.as_of is not None
    beside = await work.sections.find(names, arguments.query, project=arguments.project, is_past=is_past)
    vectors = QueryEmbeddings()
    if arguments.as_of is None:
        vectors = await work.query_embedder.of(
            arguments.query, None, work.call, language=work.access.language
        )
    planner = work.planners.context if arguments.planner is None else work.planners.rules
    view = MemoryView(arguments.as_of, work.call.request.now, vectors.by_query)
    # No connection is held while a model thinks.
    consistency: Consistency = "pinned" if planner.is_slow else "held"
    async with narrowed.begin(
        view, consistency, Reads(pinned=MAX_PINNED, tombstones=True, bounded=True)
    ) as snapshots:
        tools = MemoryTools(
            snapshots.open,
            work.call,
            held=snapshots.held,
            spending=work.spending,
            prepare=partial(_prepare, work, vectors) if planner.is_slow and arguments.as_of is None else None,
        )
        least = arguments.min_confidence or work.min_confidence
        request = ContextRequest(
            arguments.query,
            arguments.budget,
            arguments.max_hops,
            _today(view),
            least,
            tuple(beside),
        )
        recalled = await recall(planner, request, tools, work.rendering)
        await snapshots.note_state()
        state = snapshots.state or {}
        result = context_result(recalled, arguments, state, vectors.degraded, beside).body()
        logged = {name: value for name, value in result.items() if name != "context"}
        config = planning_record(work, planner, recalled, "context") | work.rendering.config
        config |= {} if least is None else {MIN_CONFIDENCE: least}
        answer = CallAnswer(result, arguments.canonical(), logged, config)
        await work.log.add("answered", answer, state=state, connection=snapshots.connection)
    return result


def _today(view: MemoryView) -> date:
    """Return the day of a call, or the one of the moment that it names."""
    moment = parse_time(view.as_of) if isinstance(view.as_of, str) else view.now
    return (moment or datetime.now(UTC)).date()


async def _prepare(work: ToolContext, vectors: QueryEmbeddings, query: str) -> None:
    """Make the vector of a query that a model asks, unless there is one."""
    if query not in vectors.by_query and vectors.degraded is None:
        made = await work.query_embedder.of(query, None, work.call, language=work.access.language)
        vectors.by_query.update(made.by_query)


def context_result(
    recalled: RecalledContext,
    arguments: ContextArguments,
    state: dict[str, int],
    unembedded: str | None,
    beside: Sequence[FoundSection] = (),
) -> ContextResult:
    """Return the answer to a question.

    Args:
        recalled: the context that was recalled.
        arguments: the arguments of the call.
        state: the state of memory in which the context was recalled.
        unembedded: the code of the failure, if the embedder gave no vector of the query.
        beside: what was found beside memory.
    """
    is_known = arguments.known_hash == recalled.sha256
    best = (*recalled.omitted[:MAX_OMITTED], *recalled.left_beside[:MAX_OMITTED])
    return ContextResult(
        context="" if is_known else recalled.text,
        not_modified=is_known,
        sources=[_source(list(group)) for _, group in groupby(recalled.recalled, key=_file)],
        omitted=OmittedResult(
            count=len(recalled.omitted) + len(recalled.left_beside),
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
        degraded=degraded_code(recalled.failure) or unembedded,
        confidence=None if recalled.judgement is None else ConfidenceResult(**asdict(recalled.judgement)),
        included=[_included(section, recalled) for section in beside] or None,
    )


def _included(section: FoundSection, recalled: RecalledContext) -> IncludedResult:
    passages = {span.choice.group for span in recalled.recalled if span.choice.reason == section.reason}
    return IncludedResult(name=section.name, passages=len(passages), left_out=section.left_out)


def _file(recalled: RecalledSpan) -> tuple[str, int]:
    return recalled.choice.reference.path, recalled.choice.reference.version


def _source(spans: list[RecalledSpan]) -> Source:
    first = spans[0].choice
    return Source(
        path=first.reference.path,
        version=first.reference.version,
        reason=first.reason,
        linked_from=first.linked_from,
        spans=[
            SourceSpan(
                start=span.choice.reference.span[0],
                end=span.choice.reference.span[1],
                sha256=span.sha256,
                why=span.choice.why,
                outdated=span.choice.is_outdated,
            )
            for span in spans
        ],
        truncated=any(span.choice.truncated for span in spans),
    )


CONTEXT = PlannedTool(
    "memory_context", ContextArguments, ContextResult, context, "context", is_read_only=True
)
