"""The caller's own calls in the log, as it may read them."""

from typing import Any

from pydantic import BaseModel

from memex.service.log.trace import Trace
from memex.service.tools.tool import ResultPart
from memex.store.records import Operation

LISTED_CHARS = 1_000  # a longer text is cut in a list of operations, which would be megabytes long
LISTED_ITEMS = 50  # and a longer list
HEAD_CHARS = 200
HEAD_ITEMS = 10


class InnerResult(ResultPart):
    """An operation inside a tool call, with the state that it saw.

    Of a request to a model (`model_request`) also the model, what that used, and the SHA-256 of its prompt.
    """

    ordinal: int
    tool: str
    status: str
    request: dict[str, Any]
    response: Any
    state: dict[str, int] | None
    error_code: str | None
    started_at: str
    duration_ms: float
    model: str | None = None
    usage: dict[str, Any] | None = None
    prompt_sha256: str | None = None


class OperationResult(ResultPart):
    """One attempt at a tool call, as it was asked and answered.

    A text that a revision holds is `{"$text": "path@version:start-end"}`, a diff `{"$diff": [old, new]}`. In a list
    of operations `inner` is empty, a text of over 1,000 characters is `{"$chars": length, "head": "…"}`, and a list
    of over 50 items `{"$items": length, "head": […]}`. `trace` is the story of the attempt, null in a list.
    `user` is null for a call that was made for no user.
    """

    tool_call_id: str
    user: str | None = None
    attempt: int
    tool: str
    status: str
    principal: dict[str, Any]
    request: dict[str, Any]
    response: Any
    writes: list[str]
    state: dict[str, int] | None
    engine: str
    error_code: str | None
    started_at: str
    duration_ms: float
    config: dict[str, Any] | None
    inner: list[InnerResult]
    trace: Trace | None = None


class OperationsResult(BaseModel):
    """Operations, the newest first; `next_cursor` is null after the first one.

    Filters look at no more than 10,000 operations for one page. `stopped_after` is this number if the page is not
    full for that reason, else null; `next_cursor` then looks further back.
    """

    operations: list[OperationResult]
    next_cursor: str | None
    stopped_after: int | None = None


def render_operation(operation: Operation, trace: Trace | None = None) -> OperationResult:
    """Return an operation as callers see it, with its story."""
    response = operation.response or {}
    return OperationResult.taken_from(
        operation,
        user=operation.user_id or None,
        tool=operation.kind,
        response=response.get("result"),
        writes=response.get("writes", []),
        duration_ms=round(operation.duration_ms, 3),
        inner=[
            InnerResult.taken_from(
                inner,
                tool=inner.kind,
                duration_ms=round(inner.duration_ms, 3),
                prompt_sha256=inner.prompt_sha256.hex() if inner.prompt_sha256 else None,
            )
            for inner in operation.inner
        ],
        trace=trace,
    )


def render_listed_operation(operation: Operation) -> OperationResult:
    """Return an operation as callers see it among others: what is long is cut."""
    whole = render_operation(operation)
    cut = {"request": _cut(whole.request), "response": _cut(whole.response)}
    return whole.model_copy(update=cut)


def _cut(value: Any) -> Any:
    match value:
        case str() if len(value) > LISTED_CHARS:
            return {"$chars": len(value), "head": value[:HEAD_CHARS]}
        case list() if len(value) > LISTED_ITEMS:
            return {"$items": len(value), "head": _cut(value[:HEAD_ITEMS])}
        case list():
            return [_cut(item) for item in value]
        case dict():
            return {name: _cut(item) for name, item in value.items()}
        case _:
            return value
