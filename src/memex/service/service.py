"""The service: permission, idempotency and the log around every operation of the store."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import structlog

from memex import telemetry
from memex.call_context import CallContext
from memex.errors import (
    Forbidden,
    MemexError,
    OperationNotFound,
    PhysicalPathForbidden,
    ProjectNotFound,
    Refused,
    StoreUnavailable,
    Unauthenticated,
    UnknownTool,
)
from memex.metrics import Metrics
from memex.service.log import operations
from memex.service.log.operations import OperationResult, OperationsResult
from memex.service.log.trace import load_trace
from memex.service.planners import Planners, SpendingResult, TenantSpending, builtin_planners, read_spending
from memex.service.query_embedding import QueryEmbedder, QueryEmbeddings
from memex.service.snapshots import HasAsOf, memory_at
from memex.service.tools import agent, files, revisions
from memex.service.tools.aliases import translate
from memex.service.tools.files import FindArguments
from memex.service.tools.planned_tool import PlannedTool, ToolContext
from memex.service.tools.remember import RememberArguments
from memex.service.tools.tool import ReadTool, WriteTool, check_json, from_cursor, to_cursor
from memex.settings import SearchMode
from memex.store import catalogue
from memex.store.access import Access, Role
from memex.store.database import Connection, Database
from memex.store.identity import authentication
from memex.store.identity.authentication import Principal
from memex.store.log import operations as log
from memex.store.log.operations import Call, CallOutcome
from memex.store.log.queue import LeasedCall
from memex.store.memory import Memory
from memex.store.paths import check_tool_call_id
from memex.store.records import Status
from memex.store.writes.draft import Draft
from memex.subagent.embedders.interface import Embedder
from memex.subagent.engine import ENGINE
from memex.telemetry import Tracing

T = TypeVar("T")
AnyTool = PlannedTool[Any] | ReadTool[Any] | WriteTool[Any]

TOOLS: dict[str, AnyTool] = {tool.name: tool for tool in (*agent.TOOLS, *files.TOOLS, *revisions.TOOLS)}
# What is logged as a call besides: numbers and spans name these and the tools, and never what a caller makes up.
ACTIONS = (
    *("memory_revert", "memory_import", "memory_export", "prompt_block", "demo_load", "demo_remove"),
    *("project_list", "project_open", "project_close", "project_member_add", "project_member_remove"),
    *("user_list", "queue_retry", "memory_replay", "memory_blame"),
    *("key_list", "key_create", "key_revoke"),
)

ROLE_HINTS: dict[Role, str] = {
    "agent": "Use the routes below /v1/admin/ with this key, or an agent's key here.",
    "admin": "Use an admin's key: `memex keys create --role admin` makes one.",
}
READY_TIMEOUT_S = 2  # a request waits longer for a connection, but who probes must hear soon

CANCELLED = "CANCELLED"  # the code of a call whose caller went away
DENIED = (Forbidden, PhysicalPathForbidden, ProjectNotFound)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who makes one call, for whom, and what that opens."""

    principal: Principal
    access: Access

    @property
    def logged(self) -> dict[str, Any]:
        """The caller as the log names it."""
        return {
            "role": self.principal.role,
            "key_id": self.principal.key_id,
            "user": self.access.user_id,
            "actor": self.access.actor,
            "project": self.access.project,
            "channel": self.access.channel,
        }


class Service:
    """Everything that a surface may ask for, over one database."""

    def __init__(
        self,
        database: Database,
        *,
        max_files: int,
        language: str = "english",
        embedder: Embedder | None = None,
        search_mode: SearchMode = "auto",
        planning: Planners | None = None,
        metrics: Metrics | None = None,
        tracing: Tracing | None = None,
        prompts_dir: Path | None = None,
    ) -> None:
        if prompts_dir is not None:
            agent.check_prompts(prompts_dir)
        self.database = database
        self.prompts_dir = prompts_dir
        self.metrics = metrics or new_metrics()
        self._tracing = tracing or Tracing()
        self._query_embedder = QueryEmbedder(embedder if database.has_vectors else None, search_mode)
        self._language = language
        self._planners = planning or builtin_planners()
        self._turns: WeakValueDictionary[tuple[int, str | None, str], asyncio.Lock] = WeakValueDictionary()
        self._max_files = max_files
        self._log = structlog.get_logger("memex.service")

    @property
    def embedder(self) -> Embedder | None:
        """What makes vectors of texts and queries here, if anything does."""
        return self._query_embedder.embedder

    @property
    def daily_usd(self) -> Decimal | None:
        """US dollars that each tenant may cost a day; None for no limit."""
        return self._planners.daily_usd

    def give_up_models(self) -> None:
        """Wait for no model any more, since the process ends: the rules answer what is asked, now and from here on.

        A call of the queue waits on: a worker that ends gives it back, and another asks the model again.
        """
        for chat in self._planners.chats:
            chat.give_up()

    async def authenticate(self, secret: str) -> Principal:
        """Return who holds a key; raises Unauthenticated."""
        try:
            return await authentication.authenticate(self.database, secret)
        except Unauthenticated:
            self.metrics.add_unauthenticated()
            raise

    async def caller(
        self,
        principal: Principal,
        context: CallContext,
        *,
        role: Role | None = None,
        action: str = "call",
        tool_call_id: str | None = None,
    ) -> Caller:
        """Return who makes a call.

        Args:
            principal: who holds the key.
            context: for whom the call acts.
            role: that the call is for; None for any.
            action: the tool or route that is called, by which a refusal is logged.
            tool_call_id: the caller's, likewise.

        Raises:
            Forbidden, ValidationFailed, ProjectNotFound: as `authentication.resolve`; logged with the user whom the
                key and the context name beyond doubt, and when they name none in the process's log alone.
        """
        try:
            check_role(principal, role or principal.role)
            return Caller(
                principal,
                await authentication.resolve(self.database, principal, context, language=self._language),
            )
        except Refused as refusal:
            await self._log_refusal(principal, context, action, tool_call_id, refusal)
            raise

    async def execute(
        self,
        caller: Caller,
        tool: str,
        arguments: dict[str, Any],
        *,
        tool_call_id: str | None = None,
        now: datetime | None = None,
    ) -> dict[str, Any]:
        """Run a tool for a caller, log the call, and return its result with its `tool_call_id`.

        Args:
            caller: made from the key and the context, never from the arguments.
            tool: such as `memory_write`, or another service's name for it that `compat` knows.
            arguments: as they came; null means absent.
            tool_call_id: the caller's, by which a write is done once; generated when absent.
            now: the clock of the call, for evals; by default the real one. What a surface passes on never sets it.

        Raises:
            ValidationFailed: the arguments are no JSON, or too deep a one to be logged.
            MemexError: logged as a failed or denied attempt.
        """
        check_json(arguments)
        tool, arguments = translate(tool, arguments)
        call = new_call(caller, tool, arguments, tool_call_id, now=now)
        async with self.logged(caller, call) as recorded:
            if tool not in TOOLS:
                raise UnknownTool(f"There is no tool {tool[:100]!r}.")
            result = await self._run(caller, TOOLS[tool], call, arguments)
            recorded.result(result)
            return result

    async def resume(self, caller: Caller, taken: LeasedCall) -> dict[str, Any]:
        """Run a call that a worker has taken from the queue, under its own id and clock; see `execute`.

        Raises:
            Unauthenticated: the key that it came by was revoked since.
            MemexError: logged as a failed or denied attempt.
        """
        call = Call(
            tool_call_id=taken.tool_call_id,
            tool=taken.kind,
            arguments=taken.request,
            principal=caller.logged,
            now=taken.now,
            engine=ENGINE,
            accepted_id=taken.operation_id,
        )
        async with self.logged(caller, call) as recorded:
            if not taken.key_is_valid:
                raise Unauthenticated(
                    "The key that this call came by was revoked.",
                    hint="Send the call again under its id, by a valid key.",
                )
            result = await self._run(caller, TOOLS[call.tool], call, taken.request)
            recorded.result(result)
            return result

    async def revert(
        self, caller: Caller, reverted: str, *, tool_call_id: str | None = None, reason: str | None = None
    ) -> dict[str, Any]:
        """Undo everything that the call `reverted` wrote, all or nothing, as new revisions.

        Raises:
            OperationNotFound: no such call of this caller committed anything.
            VersionConflict: a file was written again since and the inverse no longer fits.
        """
        check_tool_call_id(reverted)
        call = new_call(
            caller, revisions.REVERT.name, {"tool_call_id": reverted, "reason": reason}, tool_call_id
        )
        async with self.logged(caller, call):
            async with self.database.transaction(caller.access) as connection:
                writes = await log.writes_of(connection, caller.access, reverted)
            arguments = {"tool_call_id": reverted, "writes": writes, "reason": reason}
            return await self._run(caller, revisions.REVERT, call, arguments)

    async def operations(
        self, caller: Caller, *, limit: int = 50, cursor: str | None = None
    ) -> OperationsResult:
        """Return the caller's calls, the newest first, long texts cut."""
        before = from_cursor(cursor, int)[0] if cursor is not None else None
        async with self.database.transaction(caller.access) as connection:
            found = await log.list_calls(connection, caller.access, limit=limit + 1, before=before)
        page = found[:limit]
        return OperationsResult(
            operations=[operations.render_listed_operation(operation) for operation in page],
            next_cursor=to_cursor(page[-1].operation_id) if len(found) > limit else None,
        )

    async def operation(self, caller: Caller, tool_call_id: str) -> Sequence[OperationResult]:
        """Return the attempts at one of the caller's calls, the newest 100 first.

        Raises:
            OperationNotFound: the caller made no such call.
        """
        check_tool_call_id(tool_call_id)
        async with self.database.transaction(caller.access) as connection:
            found = await log.read_call(connection, caller.access, tool_call_id)
            stories = [await load_trace(connection, caller.access, operation) for operation in found]
        if not found:
            raise OperationNotFound(f"No call {tool_call_id!r} of this user.", tool_call_id=tool_call_id)
        return list(map(operations.render_operation, found, stories))

    async def catalogue(self, caller: Caller, *, max_chars: int) -> str:
        """Return the caller's files with titles, sizes, dates and tags, at most `max_chars` long."""
        async with self.database.transaction(caller.access, snapshot=True) as connection:
            reader = Memory(connection, caller.access)
            listed = await reader.list_files(limit=catalogue.MAX_FILES)
        return catalogue.render(listed, max_chars=max_chars)

    async def administer(
        self,
        caller: Caller,
        action: str,
        arguments: dict[str, Any],
        work: Callable[[Connection, Access], Awaitable[T]],
    ) -> T:
        """Run one of the `tenants` functions for an admin, and log it in the same transaction.

        Raises:
            Forbidden: the caller is no admin.
            MemexError: what `work` raises; logged as a failed attempt.
        """
        call = new_call(caller, action, arguments, None)
        async with self.logged(caller, call):
            check_role(caller.principal, "admin")
            async with self.database.transaction(caller.access) as connection:
                done = await work(connection, caller.access)
                await log.add(connection, caller.access, call, status="committed")
        return done

    async def spending(self, caller: Caller, *, days: int) -> SpendingResult:
        """Return what the calls of an admin's tenant used of models in the last days (UTC), today included.

        Raises:
            Forbidden: the caller is no admin.
        """
        check_role(caller.principal, "admin")
        since = datetime.now(UTC).date() - timedelta(days=days - 1)
        return await read_spending(self.database, caller.access, since, daily_usd=self._planners.daily_usd)

    async def check_ready(self) -> None:
        """Touch the database; raises StoreUnavailable when it does not answer within 2 s."""
        try:
            async with asyncio.timeout(READY_TIMEOUT_S), self.database.connection() as connection:
                await connection.execute("select 1")
        except TimeoutError:
            raise StoreUnavailable(f"The database did not answer within {READY_TIMEOUT_S} s.") from None

    def draft(self, caller: Caller) -> Draft:
        """Return an empty draft of a caller's."""
        return Draft(
            self.database,
            caller.access,
            max_files=self._max_files,
            is_embedded=self._query_embedder.embedder is not None,
        )

    async def _run(
        self, caller: Caller, tool: AnyTool, call: Call, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        parsed = tool.parse(arguments)
        call = replace(call, arguments=parsed.canonical())
        if isinstance(tool, WriteTool):
            return await self._write(caller, tool, call, parsed)
        if isinstance(tool, PlannedTool):
            planning = self._planners
            work = ToolContext(
                self.database,
                caller.access,
                planning.context if tool.is_read_only else planning.remember,
                self._query_embedder,
                self.draft(caller),
                call,
                TenantSpending(self.database, caller.access, datetime.now(UTC).date(), planning.daily_usd),
                self.prompts_dir,
            )
            async with self._turn(work, parsed):
                return await tool.answer(work, parsed) | {"tool_call_id": call.tool_call_id}
        as_of = parsed.as_of if isinstance(parsed, HasAsOf) else None
        vectors = QueryEmbeddings()
        if isinstance(parsed, FindArguments) and as_of is None:
            vectors = await self._query_embedder.of(parsed.query, parsed.mode, call)
        async with self.database.transaction(caller.access, snapshot=True) as connection:
            reader = await memory_at(connection, caller.access, as_of, now=call.now, vectors=vectors.by_query)
            answer = await tool.answer(reader, parsed)
            state = await reader.state(caller.access.scopes)
            await log.add(connection, caller.access, call, status="answered", answer=answer, state=state)
        return answer.result | {"tool_call_id": call.tool_call_id}

    async def _write(self, caller: Caller, tool: WriteTool[Any], call: Call, parsed: Any) -> dict[str, Any]:
        draft = self.draft(caller)
        await tool.stage(draft, parsed)
        commit = await draft.commit(call, lambda changes: tool.answer(parsed, changes))
        if commit.is_repeat:
            async with self.database.transaction(caller.access) as connection:
                await log.add(connection, caller.access, call, status="repeated")
        return commit.result | {"tool_call_id": call.tool_call_id}

    async def _log_refusal(
        self,
        principal: Principal,
        context: CallContext,
        action: str,
        tool_call_id: str | None,
        refusal: Refused,
    ) -> None:
        user_id = principal.bound_user or context.user_id
        try:
            access = await authentication.resolve(
                self.database,
                principal,
                CallContext(user_id, channel=context.channel),
                language=self._language,
            )
            caller = Caller(principal, access)
            arguments = {"user": context.user_id, "project": context.project}
            with suppress(type(refusal)):
                async with self.logged(caller, new_call(caller, action, arguments, tool_call_id)):
                    raise refusal
        except MemexError:
            self._log.warning("call_refused", key_id=principal.key_id, code=refusal.code)

    @asynccontextmanager
    async def logged(self, caller: Caller, call: Call) -> AsyncIterator[telemetry.ActiveSpan]:
        """Count the call and trace it; when it raises, log it as failed or denied in a transaction of its own."""
        tool = self.metrics.tool(call.tool)
        ended: CallOutcome | None = None
        with self._tracing.call(tool, call.tool_call_id, call.arguments) as recorded:
            try:
                yield recorded
                ended = call.outcomes[-1] if call.outcomes else CallOutcome("answered")
            except Exception as error:
                code = error.code if isinstance(error, MemexError) else "INTERNAL"
                status: Status = "denied" if isinstance(error, DENIED) else "failed"
                ended = CallOutcome(status, code)
                await self._log_failure(caller, call, ended)
                raise
            except asyncio.CancelledError:
                if any(one.kind == log.MODEL_REQUEST for one in call.inner):  # it has read memory
                    await asyncio.shield(self._log_failure(caller, call, CallOutcome("failed", CANCELLED)))
                raise
            finally:
                self.metrics.add_call(tool, ended, time.perf_counter() - call.started_s, call.inner)
                recorded.call_ended(ended)

    @asynccontextmanager
    async def _turn(self, work: ToolContext, parsed: Any) -> AsyncIterator[None]:
        """Let equal texts of this process wait for the first: a model is asked once, and all get its answer."""
        is_written = isinstance(parsed, RememberArguments) and parsed.wait and not parsed.dry_run
        is_written = is_written and work.call.accepted_id is None  # a worker has its lease
        if not is_written or not work.planner.is_slow:
            yield
            return
        name = work.access.log_scope_id, work.access.user_id, work.call.tool_call_id
        turn = self._turns.get(name)
        if turn is None:
            turn = self._turns[name] = asyncio.Lock()
        async with turn:
            yield

    async def _log_failure(self, caller: Caller, call: Call, ended: CallOutcome) -> None:
        try:
            async with self.database.transaction(caller.access) as connection:
                await log.add(
                    connection, caller.access, call, status=ended.status, error_code=ended.error_code
                )
        except MemexError as unlogged:
            self._log.warning("operation_not_logged", tool_call_id=call.tool_call_id, code=unlogged.code)


def new_metrics() -> Metrics:
    """Return the numbers of a service that begins."""
    return Metrics((*TOOLS, *ACTIONS))


def check_role(principal: Principal, role: Role) -> None:
    """Refuse a key of another role; raises Forbidden."""
    if principal.role != role:
        raise Forbidden(
            f"This is for {role} keys, and the key is an {principal.role}'s.", hint=ROLE_HINTS[role]
        )


def new_call(
    caller: Caller,
    tool: str,
    arguments: dict[str, Any],
    tool_call_id: str | None,
    *,
    now: datetime | None = None,
) -> Call:
    """Return a call made now, or by another clock; raises ValidationFailed for an id that is none."""
    return Call(
        tool_call_id=f"call_{secrets.token_hex(12)}"
        if tool_call_id is None
        else check_tool_call_id(tool_call_id),
        tool=tool[:100],
        arguments=arguments,
        principal=caller.logged,
        now=now or datetime.now(UTC),
        engine=ENGINE,
    )
