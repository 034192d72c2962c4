"""The story of one call: what it found, read and followed, what it chose, left out, returned and wrote.

It is told from the rows of the log, and of what was written from the revisions. What an older version did not log
is missing from it, and nothing is guessed.
"""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from memex.errors import MemexError
from memex.service.log.trace_steps import (
    FILE_LISTS,
    Flag,
    LoggedPart,
    LogValue,
    Name,
    Number,
    Step,
    Text,
    find_answer,
    read_step,
    to_ms,
    to_number,
    to_records,
    to_text,
    to_texts,
)
from memex.service.tools.tool import ResultPart
from memex.store.access import Access
from memex.store.database import Connection
from memex.store.diff import blocks, lines
from memex.store.log.exposure import split_reference
from memex.store.log.operations import MODEL_REQUEST
from memex.store.memory import Memory
from memex.store.records import Operation
from memex.store.text_pool import offload

OWN_STEPS = {"memory_find", "memory_read", "memory_links", *FILE_LISTS}
MAX_COMPARED = 50  # of the files that a call wrote are compared with what stood before


class TracedSpan(LoggedPart):
    """A span in code points, the end not included, and why it was chosen; None in calls of old versions."""

    start: Number
    end: Number
    why: Text


class Chosen(LoggedPart):
    """A file that stands in the answer, and how it was found; `truncated` when a passage was cut to fit."""

    path: Name
    version: Number
    reason: Name
    linked_from: Text
    spans: list[TracedSpan]
    truncated: Flag


class CutSpan(LoggedPart):
    """A passage that was left out: for the budget, for its relevance, or as a duplicate."""

    path: Name
    version: Number
    start: Number
    end: Number
    reason: Name


class Cut(ResultPart):
    """The passages considered and left out: how many, the best 20, and how many of these per reason."""

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


class Skipped(LoggedPart):
    """A part of a text that was not written, by its span, and why; `known_in` holds it already."""

    start: Number
    end: Number
    reason: Name
    known_in: Text


class Totals(ResultPart):
    """The totals of a call. Shares are of its duration, from 0 to 1.

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
    """Return the story of a call, with what it wrote as the reader may see it."""
    return build_trace(operation, await _written(Memory(connection, access), operation))


def build_trace(operation: Operation, written: Sequence[Written] = ()) -> Trace:
    """Return the story of a call. Pure."""
    answer = find_answer(operation)
    config = operation.config or {}
    # A tool that reads memory without a planner is the operation itself.
    own = [operation] if operation.kind in OWN_STEPS else []
    return Trace(
        planner=to_text(answer.get("planner") or config.get("planner")),
        degraded=to_text(answer.get("degraded")),
        failure=to_text(config.get("failure")),
        embedder=to_text(config.get("embedder")),
        steps=[read_step(step, operation) for step in operation.inner or own],
        chosen=[
            Chosen.read(source, spans=list(map(TracedSpan.read, to_records(source.get("spans")))))
            for source in to_records(answer.get("sources"))
        ],
        cut=_cut(answer.get("omitted")),
        returned=_returned(answer),
        written=list(written),
        skipped=list(map(Skipped.read, to_records(answer.get("skipped")))),
        totals=_totals(operation),
    )


def _cut(omitted: Any) -> Cut | None:
    if not isinstance(omitted, dict):
        return None
    best = list(map(CutSpan.read, to_records(omitted.get("best"))))
    return Cut(
        count=to_number(omitted.get("count")), by_reason=Counter(result.reason for result in best), best=best
    )


def _returned(answer: LogValue) -> Returned | None:
    budget = answer.get("budget")
    if not isinstance(budget, dict):
        return None
    return Returned(
        chars=to_number(budget.get("used")),
        max_chars=to_number(budget.get("limit")),
        hash=str(answer.get("hash", "")),
        not_modified=bool(answer.get("not_modified")),
    )


async def _written(memory: Memory, operation: Operation) -> list[Written]:
    response = operation.response if isinstance(operation.response, dict) else {}
    reasons = {
        f"{write.get('path')}@{write.get('version')}": write
        for write in to_records(find_answer(operation).get("writes"))
    }
    found = []
    for place, reference in enumerate(to_texts(response.get("writes"))):
        revision = before = added = removed = None
        path, version = split_reference(reference)
        with suppress(MemexError):  # not the reader's, or gone
            if place < MAX_COMPARED:
                revision = await memory.read(path, version=version)
                before = await memory.before(revision)
        if revision is not None:
            old, new = before.content if before else "", revision.content
            added, removed = await offload.run_in_thread(len(old) + len(new), _line_counts, old, new)
        told = reasons.get(reference, {})
        written = Written(
            path=path,
            version=version,
            operation=revision.operation if revision else to_text(told.get("operation")),
            added=added,
            removed=removed,
            reason=to_text(told.get("reason")) or (revision.reason if revision else None),
        )
        found.append(written)
    return found


def _line_counts(old: str, new: str) -> tuple[int, int]:
    changed = blocks(lines(old), lines(new))
    return sum(j2 - j1 for _, _, j1, j2 in changed), sum(i2 - i1 for i1, i2, _, _ in changed)


def _totals(operation: Operation) -> Totals:
    requests = [inner for inner in operation.inner if inner.kind == MODEL_REQUEST]
    usages = [request.usage or {} for request in requests]
    prices = [usage["usd"] for usage in usages if usage.get("usd") is not None]
    model_ms = sum(request.duration_ms for request in requests)
    memory_ms = sum(inner.duration_ms for inner in operation.inner) - model_ms
    return Totals(
        operations=len(operation.inner) - len(requests),
        memory_ms=to_ms(memory_ms),
        memory_share=_share(memory_ms, operation.duration_ms),
        model_ms=to_ms(model_ms),
        model_share=_share(model_ms, operation.duration_ms),
        model_requests=len(requests),
        input_tokens=sum(to_number(usage.get("input_tokens")) for usage in usages),
        output_tokens=sum(to_number(usage.get("output_tokens")) for usage in usages),
        usd=sum(prices) if prices else None,
        unpriced_requests=len(requests) - len(prices),
        is_estimated=any(usage.get("estimated") for usage in usages),
    )


def _share(part_ms: float, whole_ms: float) -> float:
    return round(min(1.0, part_ms / whole_ms), 4) if whole_ms > 0 else 0.0
