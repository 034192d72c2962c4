"""What a caller may know of the log: its own calls."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from memex.store.records import Operation


class OperationResult(BaseModel):
    """One attempt at a tool call, as it was asked and answered.

    A text that a revision holds is `{"$text": "path@version:start-end"}`, a diff `{"$diff": [old, new]}`.
    """

    model_config = ConfigDict(frozen=True)

    tool_call_id: str
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


class OperationsResult(BaseModel):
    """Operations, the newest first; `next_cursor` is null after the first one."""

    operations: list[OperationResult]
    next_cursor: str | None


def rendered(operation: Operation) -> OperationResult:
    """Return an operation as callers see it."""
    response = operation.response or {}
    return OperationResult(
        tool_call_id=operation.tool_call_id,
        attempt=operation.attempt,
        tool=operation.kind,
        status=operation.status,
        principal=operation.principal,
        request=operation.request,
        response=response.get("result"),
        writes=response.get("writes", []),
        state=operation.state,
        engine=operation.engine,
        error_code=operation.error_code,
        started_at=operation.started_at.isoformat(),
        duration_ms=round(operation.duration_ms, 3),
    )
