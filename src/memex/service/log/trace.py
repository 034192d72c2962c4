"""The story of one call: what it found, read and followed, what it chose, left out, returned and wrote.

It is told from the rows of the log, and of what was written from the revisions. What an older version did not log
is missing from it, and nothing is guessed.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal

from pydantic import Field

from memex.errors import MemexError
from memex.service.tools.tool import ResultPart
from memex.store import offload
from memex.store.access import Access
from memex.store.database import Connection
from memex.store.diff import blocks, lines
from memex.store.log.call import digest
from memex.store.log.exposure import split_reference
from memex.store.log.operations import MODEL_REQUEST
from memex.store.memory import Memory
from memex.store.records import Operation, Revision

MAX_COMPARED = 50  # of the files that a call wrote are compared with what stood before
MAX_MODEL_TEXT_CHARS = 1_000  # of a model's words
FILE_LISTS = {"memory_list", "memory_catalogue", "memory_pinned", "memory_passages", "memory_history"}

LogValue = Mapping[str, Any]


class _Step(ResultPart):
    """An operation inside a call; `at_ms` is when it began, counted from the call's beginning."""

    ordinal: int
    tool: str
    at_ms: float
    duration_ms: float
    error_code: str | None


class TracedHit(ResultPart):
    """A file that a search found: its best span, and the score by which it was ranked."""

    path: str
    version: int
    start: int
    end: int
    score: int


class FindStep(_Step):
    """A search. `query` is null where it was too long to be logged again and is not that of the call."""

    kind: Literal["find"] = "find"
    query: str | None
    limit: int | None
    hits: list[TracedHit]


class ReadStep(_Step):
    """What was read: `path@version:start-end` each."""

    kind: Literal["read"] = "read"
    spans: list[str]


class Hop(ResultPart):
    """A link that was followed; `target` is null where no file stands."""

    source: str
    target: str | None


class LinksStep(_Step):
    """Links from or to these files, and where they lead."""

    kind: Literal["links"] = "links"
    paths: list[str]
    direction: str | None
    hops: list[Hop]


class FilesStep(_Step):
    """Files that were listed, or whose passages were scored: `path@version`, of pinned ones `path`."""

    kind: Literal["files"] = "files"
    files: list[str]


class ToolCallMade(ResultPart):
    """A tool that a model called, with the arguments as it wrote them."""

    tool: str
    arguments: Any


class ModelStep(_Step):
    """A request to a model.

    `mode` is `tools` where it may look for itself and `single` where it answers at once; `shown` are the spans that
    it saw for the first time, `said` the beginning of its words. `usd` is null where no price is known;
    `is_estimated`: its tokens were guessed, since no answer said them. `failure` says why it gave no answer.
    """

    kind: Literal["model"] = "model"
    model: str | None
    agent: str | None
    mode: str | None
    form: str | None
    sent_chars: int | None
    shown: list[str]
    called: list[ToolCallMade]
    said: str | None
    failure: str | None
    input_tokens: int
    output_tokens: int
    usd: float | None
    is_estimated: bool


class OtherStep(_Step):
    """An operation of another kind, as it was asked."""

    kind: Literal["other"] = "other"
    asked: dict[str, Any]


Step = Annotated[
    FindStep | ReadStep | LinksStep | FilesStep | ModelStep | OtherStep, Field(discriminator="kind")
]


class TracedSpan(ResultPart):
    """A span in code points, the end not included."""

    start: int
    end: int


class Chosen(ResultPart):
    """A file that stands in the answer, and why; `truncated` when a passage was cut to fit."""

    path: str
    version: int
    reason: str
    linked_from: str | None
    spans: list[TracedSpan]
    truncated: bool


class CutSpan(ResultPart):
    """A passage that was left out: for the budget, for its relevance, or as a duplicate."""

    path: str
    version: int
    start: int
    end: int
    reason: str


class Cut(ResultPart):
    """What was considered and left out: how many passages; of the best 20 which, and how many for each reason."""

    count: int
    by_reason: dict[str, int]
    best: list[CutSpan]


class Returned(ResultPart):
    """The context that was returned: its characters, and the digest that names its bytes.

    `not_modified`: the caller had it, and it was not sent again.
    """

    chars: int
    max_chars: int
    hash: str
    not_modified: bool


class Written(ResultPart):
    """A revision that the call wrote, and how many lines it added and removed.

    Those and `operation` are null where the reader may not see the file, and beyond the first 50 files.
    """

    path: str
    version: int
    operation: str | None
    added: int | None
    removed: int | None
    reason: str | None


class Skipped(ResultPart):
    """A part of a text that was not written, by its span, and why; `known_in` holds it already."""

    start: int
    end: int
    reason: str
    known_in: str | None


class Totals(ResultPart):
    """What a call took. Shares are of its duration, from 0 to 1.

    `usd` counts what has a known price, and is null where nothing has; `unpriced_requests` are left out of it.
    `is_estimated`: tokens of some request were guessed.
    """

    operations: int
    memory_ms: float
    memory_share: float
    model_ms: float
    model_share: float
    model_requests: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    unpriced_requests: int
    is_estimated: bool


class Trace(ResultPart):
    """The story of an attempt at a call, in its order.

    Attributes:
        planner: who chose: `builtin`, or a model's name; null for a call without a planner.
        degraded: the code of what the answer lacked, if it lacked something.
        failure: in words why a model did not plan.
        embedder: to which the query was sent.
        steps: the operations on memory and requests to models.
        chosen: the files in the context, in its order.
        cut: what did not come into it; null where nothing is chosen.
        returned: how long the context is; null where there is none.
        written: the revisions.
        skipped: what of a text was not written.
        totals: how long it took, and what models used.
    """

    planner: str | None
    degraded: str | None
    failure: str | None
    embedder: str | None
    steps: list[Step]
    chosen: list[Chosen]
    cut: Cut | None
    returned: Returned | None
    written: list[Written]
    skipped: list[Skipped]
    totals: Totals


async def load_trace(connection: Connection, access: Access, operation: Operation) -> Trace:
    """Return the story of a call, with what it wrote as the reader may see it.

    Args:
        connection: in a transaction begun for `access`.
        access: of who reads the log.
        operation: with the operations inside it.
    """
    return build_trace(operation, await _written(Memory(connection, access), operation))


def build_trace(operation: Operation, written: Sequence[Written] = ()) -> Trace:
    """Return the story of a call. Pure."""
    answer = _answer(operation)
    config = operation.config or {}
    return Trace(
        planner=_text(answer.get("planner") or config.get("planner")),
        degraded=_text(answer.get("degraded")),
        failure=_text(config.get("failure")),
        embedder=_text(config.get("embedder")),
        steps=[_step(one, operation) for one in operation.inner or _own(operation)],
        chosen=[_chosen(source) for source in _records(answer.get("sources"))],
        cut=_cut(answer.get("omitted")),
        returned=_returned(answer),
        written=list(written),
        skipped=[
            Skipped(
                start=_number(skip.get("start")),
                end=_number(skip.get("end")),
                reason=str(skip.get("reason", "")),
                known_in=_text(skip.get("known_in")),
            )
            for skip in _records(answer.get("skipped"))
        ],
        totals=_totals(operation),
    )


def _answer(operation: Operation) -> LogValue:
    response = operation.response if isinstance(operation.response, dict) else {}
    result = response.get("result")
    return result if isinstance(result, dict) else {}


def _own(operation: Operation) -> Iterator[Operation]:
    """Yield the call itself where it is the operation: a tool that reads memory without a planner."""
    if operation.kind in {"memory_find", "memory_read", "memory_links", *FILE_LISTS}:
        yield operation


def _step(one: Operation, call: Operation) -> Step:
    response = _answer(one) if one is call else one.response if isinstance(one.response, dict) else {}
    common: dict[str, Any] = {
        "ordinal": one.ordinal,
        "tool": one.kind,
        "at_ms": 0.0 if one is call else _ms((one.started_at - call.started_at).total_seconds() * 1000),
        "duration_ms": _ms(one.duration_ms),
        "error_code": one.error_code,
    }
    match one.kind:
        case "memory_find":
            return FindStep(
                **common,
                query=_query(one.request.get("query"), call),
                limit=_maybe_number(one.request.get("limit")),
                hits=[_hit(hit) for hit in _records(response.get("hits"))],
            )
        case "memory_read":
            return ReadStep(**common, spans=_spans_read(one.request, response))
        case "memory_links":
            return LinksStep(
                **common,
                paths=_texts(one.request.get("paths", [one.request.get("path")])),
                direction=_text(one.request.get("direction")),
                hops=[_hop(link) for link in _items(response.get("links"))],
            )
        case kind if kind in FILE_LISTS:
            return FilesStep(**common, files=_texts(response.get("files", response.get("revisions"))))
        case "model_request":
            return _model_step(one, response, common)
    return OtherStep(**common, asked=one.request)


def _model_step(one: Operation, response: LogValue, common: dict[str, Any]) -> ModelStep:
    usage = one.usage or {}
    parts = _records(response.get("parts"))
    said = "\n".join(str(part.get("content", "")) for part in parts if part.get("part_kind") == "text")
    return ModelStep(
        **common,
        model=one.model,
        agent=_text(one.request.get("agent")),
        mode=_text(one.request.get("mode")),
        form=_text(one.request.get("form")),
        sent_chars=_maybe_number(one.request.get("chars")),
        shown=_texts(one.request.get("shown")),
        called=[
            ToolCallMade(tool=str(part.get("tool_name", "")), arguments=part.get("args"))
            for part in parts
            if part.get("part_kind") == "tool-call"
        ],
        said=said[:MAX_MODEL_TEXT_CHARS] or None,
        failure=_text(response.get("failure")),
        input_tokens=_number(usage.get("input_tokens")),
        output_tokens=_number(usage.get("output_tokens")),
        usd=usage.get("usd"),
        is_estimated=bool(usage.get("estimated")),
    )


def _query(logged: Any, call: Operation) -> str | None:
    """Return what was searched: of a long query only the digest is logged, which may be that of the call's own."""
    if isinstance(logged, str):
        return logged
    asked = call.request.get("query")
    is_callers = isinstance(asked, str) and isinstance(logged, dict)
    return asked if is_callers and logged.get("$sha256") == digest(asked).hex() else None


def _hit(hit: LogValue) -> TracedHit:
    start, end = _span(hit.get("span"))
    return TracedHit(
        path=str(hit.get("path", "")),
        version=_number(hit.get("version")),
        start=start,
        end=end,
        score=_number(hit.get("score")),
    )


def _span(span: Any) -> tuple[int, int]:
    match span:
        case {"start": int(start), "end": int(end)} | [int(start), int(end)]:
            return start, end
    return 0, 0


def _hop(link: Any) -> Hop:
    match link:
        case [str(source), str(target)]:
            return Hop(source=source, target=target)
        case {"source": str(source)}:
            return Hop(source=source, target=_text(link.get("target")))
    return Hop(source=str(link), target=None)


def _spans_read(request: LogValue, response: LogValue) -> list[str]:
    """Return what a read came back with; where it failed, what it asked for."""
    read = [response.get("content"), *_items(response.get("texts"))]
    found = [one["$text"] for one in read if isinstance(one, dict) and isinstance(one.get("$text"), str)]
    return found or _texts(request.get("spans", [request.get("path")]))


def _chosen(source: LogValue) -> Chosen:
    return Chosen(
        path=str(source.get("path", "")),
        version=_number(source.get("version")),
        reason=str(source.get("reason", "")),
        linked_from=_text(source.get("linked_from")),
        spans=[
            TracedSpan(start=_number(span.get("start")), end=_number(span.get("end")))
            for span in _records(source.get("spans"))
        ],
        truncated=bool(source.get("truncated")),
    )


def _cut(omitted: Any) -> Cut | None:
    if not isinstance(omitted, dict):
        return None
    best = [
        CutSpan(
            path=str(one.get("path", "")),
            version=_number(one.get("version")),
            start=_number(one.get("start")),
            end=_number(one.get("end")),
            reason=str(one.get("reason", "")),
        )
        for one in _records(omitted.get("best"))
    ]
    return Cut(count=_number(omitted.get("count")), by_reason=Counter(one.reason for one in best), best=best)


def _returned(answer: LogValue) -> Returned | None:
    budget = answer.get("budget")
    if not isinstance(budget, dict):
        return None
    return Returned(
        chars=_number(budget.get("used")),
        max_chars=_number(budget.get("limit")),
        hash=str(answer.get("hash", "")),
        not_modified=bool(answer.get("not_modified")),
    )


async def _written(memory: Memory, operation: Operation) -> list[Written]:
    response = operation.response if isinstance(operation.response, dict) else {}
    reasons = {
        f"{write.get('path')}@{write.get('version')}": write
        for write in _records(_answer(operation).get("writes"))
    }
    found = []
    for place, reference in enumerate(_texts(response.get("writes"))):
        revision = before = None
        with suppress(MemexError):  # not the reader's, or gone
            path, version = split_reference(reference)
            if place < MAX_COMPARED:
                revision = await memory.read(path, version=version)
                before = await memory.before(revision)
        found.append(await _compared(reference, revision, before, reasons.get(reference, {})))
    return found


async def _compared(
    reference: str, revision: Revision | None, before: Revision | None, told: LogValue
) -> Written:
    path, version = split_reference(reference)
    added = removed = None
    if revision is not None:
        old, new = before.content if before else "", revision.content
        added, removed = await offload.run(len(old) + len(new), _line_counts, old, new)
    return Written(
        path=path,
        version=version,
        operation=revision.operation if revision else _text(told.get("operation")),
        added=added,
        removed=removed,
        reason=_text(told.get("reason")) or (revision.reason if revision else None),
    )


def _line_counts(old: str, new: str) -> tuple[int, int]:
    changed = blocks(lines(old), lines(new))
    return sum(j2 - j1 for _, _, j1, j2 in changed), sum(i2 - i1 for i1, i2, _, _ in changed)


def _totals(operation: Operation) -> Totals:
    requests = [one for one in operation.inner if one.kind == MODEL_REQUEST]
    usages = [one.usage or {} for one in requests]
    prices = [usage["usd"] for usage in usages if usage.get("usd") is not None]
    model_ms = sum(one.duration_ms for one in requests)
    memory_ms = sum(one.duration_ms for one in operation.inner) - model_ms
    return Totals(
        operations=len(operation.inner) - len(requests),
        memory_ms=_ms(memory_ms),
        memory_share=_share(memory_ms, operation.duration_ms),
        model_ms=_ms(model_ms),
        model_share=_share(model_ms, operation.duration_ms),
        model_requests=len(requests),
        input_tokens=sum(_number(usage.get("input_tokens")) for usage in usages),
        output_tokens=sum(_number(usage.get("output_tokens")) for usage in usages),
        usd=sum(prices) if prices else None,
        unpriced_requests=len(requests) - len(prices),
        is_estimated=any(usage.get("estimated") for usage in usages),
    )


def _share(part_ms: float, whole_ms: float) -> float:
    return round(min(1.0, part_ms / whole_ms), 4) if whole_ms > 0 else 0.0


def _ms(duration_ms: float) -> float:
    return round(duration_ms, 3)


def _records(value: Any) -> list[LogValue]:
    return [item for item in _items(value) if isinstance(item, dict)]


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _texts(value: Any) -> list[str]:
    return [item for item in _items(value) if isinstance(item, str)]


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _maybe_number(value: Any) -> int | None:
    return value if isinstance(value, int) else None
