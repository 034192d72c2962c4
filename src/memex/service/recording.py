"""The record of calls: each one is counted, traced and logged, failed and denied calls too."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol, Self, TypeVar

import structlog

from memex.errors import (
    DiskLow,
    FileNotFound,
    Forbidden,
    MemexError,
    Overloaded,
    PhysicalPathForbidden,
    ProjectNotFound,
    StoreUnavailable,
    Unauthenticated,
)
from memex.metrics import Metrics
from memex.service.call import Caller, new_call
from memex.service.near_paths import suggest_paths
from memex.store.access import Access
from memex.store.database import Connection, Database, batch
from memex.store.log import operations
from memex.store.log.call import Call, CallAnswer, CallOutcome
from memex.store.records import Status
from memex.store.text_pool import offload
from memex.store.waiting.failures import takes_no_row
from memex.telemetry import ActiveSpan, Tracing

UNLOGGED = "log"  # `degraded` of an answer that has no row in the log
CANCELLED = "CANCELLED"  # the code of a call whose caller went away
DENIED = (Forbidden, PhysicalPathForbidden, ProjectNotFound)
# Of calls that wrote nothing.
UNWRITTEN = frozenset[Status]({"answered", "dry_run", "repeated", "failed", "denied"})
# Calls that ended so are not logged: to wait for a connection or to take the last space would make matters worse.
UNLOGGED_CODES = frozenset({StoreUnavailable.code, Overloaded.code, DiskLow.code})


class _Result(Protocol):
    """A result of a tool; see `ToolResult`."""

    def body(self) -> dict[str, Any]: ...

    def model_copy(self, *, update: dict[str, Any]) -> Self: ...


R = TypeVar("R", bound=_Result)


class CallLogger:
    """Logs one call, by default in a transaction of its own."""

    def __init__(self, database: Database, access: Access, call: Call) -> None:
        self._database = database
        self._access = access
        self.call = call

    async def first_result(self) -> dict[str, Any] | None:
        """Return what was answered under the id of this call before, None if the id is new.

        Raises:
            ToolCallConflict: the id is another request's.
            ToolCallInProgress: the first call with this id still runs.
        """
        statement = operations.committed_statement(self._access, self.call.request.tool_call_id)
        async with self._database.transaction(self._access) as connection:
            [found] = await batch(connection, statement)
            return await operations.first_result(connection, self._access, self.call, found)

    async def answer(
        self, result: R, asked: dict[str, Any], logged: Any, *, status: Status = "answered"
    ) -> R:
        """Log the result of a call, and return it with the id of the call.

        `asked` and `logged` are the arguments and the result as the log keeps them.
        """
        await self.add(status, CallAnswer(result.body(), asked, logged))
        return result.model_copy(update={"tool_call_id": self.call.request.tool_call_id})

    async def add(
        self,
        status: Status,
        answer: CallAnswer | None = None,
        *,
        state: dict[str, int] | None = None,
        error_code: str | None = None,
        connection: Connection | None = None,
    ) -> None:
        """Log how the call ended.

        `state` has the number of changes that the call saw of each mount. The row is written in the transaction
        of the connection, or in one of its own.

        Raises:
            DiskLow, StoreUnavailable: the database takes no row, and the call did more than to read.
        """
        if status in UNWRITTEN and not self._database.is_logged:
            self.call.record.is_unlogged = True
            return
        if connection is None:
            try:
                async with self._database.transaction(self._access) as own:
                    await self.add(status, answer, state=state, error_code=error_code, connection=own)
            except (DiskLow, StoreUnavailable) as error:
                if status not in UNWRITTEN or not takes_no_row(error):
                    raise
                self.call.record.is_unlogged = True
            return
        await operations.add(
            connection,
            self._access,
            self.call,
            status=status,
            answer=answer,
            state=state,
            error_code=error_code,
        )


class Recorder:
    """Counts and traces calls, and logs those that raise."""

    def __init__(self, database: Database, metrics: Metrics, tracing: Tracing) -> None:
        self._database = database
        self._metrics = metrics
        self._tracing = tracing
        self._log = structlog.get_logger("memex.service")

    @asynccontextmanager
    async def recorded(
        self, caller: Caller, action: str, arguments: dict[str, Any], *, tool_call_id: str | None = None
    ) -> AsyncIterator[CallLogger]:
        """Record a call that is made now; the block logs its answer.

        Raises:
            ValidationFailed: the tool call id is malformed.
        """
        call = new_call(caller, action, arguments, tool_call_id)
        async with self.watch(caller, call):
            yield CallLogger(self._database, caller.access, call)

    @asynccontextmanager
    async def watch(self, caller: Caller, call: Call) -> AsyncIterator[ActiveSpan]:
        """Count the call and trace it; when it raises, log it as failed or denied in a transaction of its own.

        Raises:
            Unauthenticated: in place of what the call raised, if its key was revoked meanwhile: then it is told
                nothing else, and the log does not hold the call.
        """
        tool = self._metrics.tool(call.request.tool)
        ended: CallOutcome | None = None
        with (
            offload.on_behalf_of(caller.access.tenant_id, caller.access.user_id),
            self._tracing.call(tool, call.request.tool_call_id, call.request.arguments) as span,
        ):
            try:
                yield span
                ended = call.record.outcomes[-1] if call.record.outcomes else CallOutcome("answered")
            except Exception as error:
                code = error.code if isinstance(error, MemexError) else "INTERNAL"
                ended = CallOutcome("denied" if isinstance(error, DENIED) else "failed", code)
                await self._log_failure(caller, call, ended)
                if isinstance(error, FileNotFound):
                    await suggest_paths(self._database, caller.access, error)
                raise
            except asyncio.CancelledError:
                has_read_memory = any(
                    operation.kind == operations.MODEL_REQUEST for operation in call.record.inner
                )
                if has_read_memory:
                    with suppress(Unauthenticated):
                        await asyncio.shield(
                            self._log_failure(caller, call, CallOutcome("failed", CANCELLED))
                        )
                raise
            finally:
                duration_s = time.perf_counter() - call.record.started_s
                inner = () if call.record.is_model_played else call.record.inner
                self._metrics.add_call(tool, ended, duration_s, inner)
                if call.record.is_unlogged:
                    self._metrics.add_unlogged(tool)
                span.call_ended(ended)

    async def _log_failure(self, caller: Caller, call: Call, ended: CallOutcome) -> None:
        if ended.error_code in UNLOGGED_CODES:
            self._warn_unlogged(call, ended.error_code)
            return
        try:
            logger = CallLogger(self._database, caller.access.for_log(), call)
            await logger.add(ended.status, error_code=ended.error_code)
        except Unauthenticated:
            raise
        except MemexError as unlogged:
            self._warn_unlogged(call, unlogged.code)

    def _warn_unlogged(self, call: Call, code: str | None) -> None:
        self._log.warning("operation_not_logged", tool_call_id=call.request.tool_call_id, code=code)
