"""The service: permission, idempotency and the log around every operation of the store."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import structlog

from memex.call_context import CallContext
from memex.errors import Forbidden, MemexError, Refused, Unauthenticated, UnknownTool
from memex.metrics import Metrics
from memex.service.call import UNBOUND_HINT, Caller, check_role, new_call, resumed_call
from memex.service.identity.identities import Identities
from memex.service.identity.rate_limits import RateLimits
from memex.service.included.kinds import KINDS
from memex.service.included.sections import LiveSections
from memex.service.journal.marking import is_of_the_present, without_forgotten
from memex.service.log.replay.dry_runs import load_dry_run
from memex.service.planners import Planners, builtin_planners
from memex.service.query_embedding import QueryEmbedder
from memex.service.readiness import Readiness
from memex.service.recording import UNLOGGED, CallLogger, Recorder
from memex.service.secrets.guard import GuardedArguments, guard
from memex.service.snapshots import LiveSnapshots
from memex.service.spending import SpendingResult, TenantSpending, read_spending
from memex.service.tools import definitions, revisions
from memex.service.tools.aliases import translate
from memex.service.tools.call_locks import CallLocks
from memex.service.tools.registry import ACTIONS, BY_NAME, TOOLS, AnyTool, new_metrics
from memex.service.tools.tool import check_json, is_dry_run
from memex.service.tools.tool_context import ToolContext
from memex.settings import Band, SearchMode
from memex.store import catalogue
from memex.store.access import Access, Role, SecretPolicies
from memex.store.database import Connection, Database
from memex.store.documents.records import DEFAULT_LIMITS, DocumentLimits
from memex.store.identity.authentication import Principal
from memex.store.log import operations as operations_log
from memex.store.log import queue
from memex.store.log.call import Call
from memex.store.log.queue import LeasedCall
from memex.store.memory import Memory
from memex.store.paths import check_tool_call_id
from memex.store.waiting.pgvector import VectorsLost
from memex.store.writes.draft import Draft
from memex.subagent.context.rendering import RENDERING, Rendering
from memex.subagent.embedders.interface import Embedder
from memex.subagent.limits import Limits
from memex.subagent.model.chat import ChatModel
from memex.telemetry import Tracing

T = TypeVar("T")
__all__ = ["ACTIONS", "BY_NAME", "TOOLS", "AnyTool", "Caller", "Service", "check_role", "new_call"]


class Service:
    """Everything that a surface may ask for, over one database."""

    def __init__(
        self,
        database: Database,
        *,
        max_files: int,
        max_journal_bytes: int = 0,
        language: str = "english",
        embedder: Embedder | None = None,
        search_mode: SearchMode = "auto",
        is_brief: bool = False,
        planning: Planners | None = None,
        metrics: Metrics | None = None,
        tracing: Tracing | None = None,
        prompts_dir: Path | None = None,
        call_locks: CallLocks | None = None,
        rendering: Rendering = RENDERING,
        rate_limits: RateLimits | None = None,
        secret_policies: SecretPolicies | None = None,
        case_folder: Path | None = None,
        max_messages: int = 2_000_000,
        document_limits: DocumentLimits = DEFAULT_LIMITS,
        include: Sequence[str] = (),
        min_confidence: Band = "weak",
        keeps_journal: bool = True,
        erasure_ledger: Path | None = None,
    ) -> None:
        if prompts_dir is not None:
            definitions.check_prompts(prompts_dir)
        self.database, self.prompts_dir = database, prompts_dir
        self.rendering, self.min_confidence, self.max_messages = rendering, min_confidence, max_messages
        self.case_folder, self._include = case_folder, tuple(include)
        self.rate_limits, self.document_limits = rate_limits or RateLimits(), document_limits
        self.metrics = metrics or new_metrics()
        self.recorder = Recorder(database, self.metrics, tracing or Tracing())
        self.query_embedder = QueryEmbedder.over(database, embedder, search_mode, is_brief=is_brief)
        self.identities = Identities(database, self.metrics, language=language)
        self.planners, self._call_locks = planning or builtin_planners(), call_locks or CallLocks()
        self._readiness, self._log = Readiness(database), structlog.get_logger("memex.service")
        self.keeps_journal, self.erasure_ledger = keeps_journal, erasure_ledger
        self._max_files, self.max_journal_bytes = max_files, max_journal_bytes
        self.secret_policies = secret_policies or SecretPolicies()
        self.embeds_conversations = True  # see MEMEX_EMBED_CONVERSATIONS
        self.dream_model: ChatModel | None = None  # see MEMEX_DREAM_MODEL
        self.dream_limits = Limits()

    @property
    def embedder(self) -> Embedder | None:
        """The embedder of texts and queries; None if there is none."""
        return self.query_embedder.embedder

    def cancel_models(self) -> None:
        """Stop waiting for models because the process ends; a call from the queue goes back there."""
        for chat in self.planners.chats:
            chat.cancel()

    async def caller(
        self,
        principal: Principal,
        context: CallContext,
        *,
        role: Role | None = None,
        action: str = "call",
        tool_call_id: str | None = None,
        from_cache: bool = False,
        makes_user: bool = False,
    ) -> Caller:
        """Return who makes a call.

        Args:
            principal: the holder of the key.
            context: for whom the call acts.
            role: the role that the route requires; None for any role.
            action: the tool or route that is called; a refusal is logged under this name.
            tool_call_id: the id that the caller gave; a refusal is logged under it.
            from_cache: take the rights from memory; only for `execute`, which notices when they have changed.
            makes_user: make the scope of a user who never wrote; only for a caller that is used for many calls.

        Raises:
            Unauthenticated: the key was revoked since it was looked up.
            Forbidden, ValidationFailed, ProjectNotFound: see `authentication.resolve`. The refusal is logged in the
                log of the user, if key and context name one; otherwise only in the log of the process.
        """
        try:
            check_role(principal, role or principal.role)
            acting = principal.acting_as(context.role)
            if from_cache:
                return Caller(acting, await self.identities.cached_access(acting, context))
            return Caller(acting, await self.identities.resolve(acting, context, makes_user=makes_user))
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
        own: AnyTool | None = None,
    ) -> dict[str, Any]:
        """Run a tool for a caller, log the call, and return its result with its `tool_call_id`.

        Args:
            caller: made from the key and the context, never from the arguments.
            tool: the name of a tool, such as `memory_write`, or an alias of one (`tools/aliases.py`).
            arguments: the arguments as they came; null means absent.
            tool_call_id: the id that the caller gave; a write is done once under it. Generated when absent.
            now: the clock of the call, for evals. No surface lets a caller set it.
            own: the tool of that name, if it is one of which no model is told.

        Raises:
            Unauthenticated: the key was revoked. No transaction that began after this showed or wrote anything.
            ValidationFailed: the arguments are not JSON, or are nested too deeply to be logged.
            MemexError: logged as a failed or denied attempt.
        """
        check_json(arguments)
        tool, arguments = translate(tool, arguments)
        with self.rate_limits.counting(caller, arguments, named := own or BY_NAME.get(tool)) as writes:
            guarded = await guard(self.policies_of(caller), tool, arguments)
            call = new_call(caller, tool, guarded.logged, tool_call_id, now=now)
            async with self.recorder.watch(caller, call) as span:
                if named is None:
                    raise UnknownTool(f"There is no tool {tool[:100]!r}.")
                span.result(result := await self._run(caller, named, call, guarded, writes=writes))
                return result

    async def resume(self, caller: Caller, taken: LeasedCall) -> dict[str, Any]:
        """Run a call that a worker has taken from the queue, under its own id and clock; see `execute`.

        Raises:
            Unauthenticated: the key of the call has been revoked since.
            MemexError: logged as a failed or denied attempt.
        """
        guarded = await guard(self.policies_of(caller), taken.kind, taken.request)
        call = resumed_call(caller, taken).with_arguments(guarded.logged)
        if guarded.is_refused:
            await queue.redact(self.database, caller.access, call)
        async with self.recorder.watch(caller, call) as span:
            if not taken.key_is_valid:
                raise Unauthenticated(
                    "The key that this call came by was revoked.",
                    hint="Send the call again under its id, by a valid key.",
                )
            span.result(result := await self._run(caller, TOOLS[call.request.tool], call, guarded))
        return result

    async def revert(
        self, caller: Caller, reverted: str, *, tool_call_id: str | None = None, reason: str | None = None
    ) -> dict[str, Any]:
        """Undo everything that the call `reverted`, or an import, wrote, all or nothing, as new revisions.

        Raises:
            OperationNotFound: no such call of this caller committed anything.
            VersionConflict: a file was written again since and the inverse no longer fits.
        """
        check_tool_call_id(reverted)
        name = revisions.REVERT.name
        guarded = await guard(self.policies_of(caller), name, {"tool_call_id": reverted, "reason": reason})
        async with self.recorder.recorded(caller, name, guarded.logged, tool_call_id=tool_call_id) as log:
            async with self.database.transaction(caller.access) as connection:
                writes = await operations_log.writes_of(connection, caller.access, reverted)
            return await self._run(
                caller, revisions.REVERT, log.call, guarded.with_argument("writes", writes)
            )

    async def catalogue(self, caller: Caller, *, max_chars: int) -> str:
        """Return the caller's files with titles, sizes, dates and tags, at most `max_chars` long."""
        async with self.database.transaction(caller.access, snapshot=True) as connection:
            memory = Memory(connection, caller.access)
            listed = await memory.list_files(limit=catalogue.MAX_FILES)
            journal = await memory.journal_months()
        return catalogue.render_with_tags(listed, max_chars=max_chars, journal=journal)

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
        async with self.recorder.recorded(caller, action, arguments) as log:
            check_role(caller.principal, "admin")

            async def run(current: Caller) -> T:
                async with self.database.transaction(current.access) as connection:
                    done = await work(connection, current.access)
                    await log.add("committed", connection=connection)
                return done

            return await self.identities.run_with_rights(caller, log.call, run)

    @asynccontextmanager
    async def maintaining(
        self, caller: Caller, action: str, arguments: dict[str, Any], *, refusal: str | None = None
    ) -> AsyncIterator[Connection]:
        """Open a transaction beyond the access of an admin, and log the call in it.

        `refusal` is what a key is told that is bound to a user; None if it may do this too.

        Raises:
            Forbidden: the caller is no admin, or `refusal`.
        """
        async with self.recorder.recorded(caller, action, arguments) as log:
            check_role(caller.principal, "admin")
            if refusal is not None and caller.principal.bound_user is not None:
                raise Forbidden(refusal, hint=UNBOUND_HINT)
            async with self.database.maintenance() as connection:
                yield connection
                await log.add("committed", connection=connection)

    async def spending(self, caller: Caller, *, days: int) -> SpendingResult:
        """Return what the calls of a tenant used of models in the last days (UTC); raises Forbidden for agents."""
        check_role(caller.principal, "admin")
        since = datetime.now(UTC).date() - timedelta(days=days - 1)
        return await read_spending(self.database, caller.access, since, daily_usd=self.planners.daily_usd)

    async def check_ready(self) -> None:
        """Raise StoreUnavailable unless the database takes writes; see `Readiness.check`."""
        await self._readiness.check()

    def policies_of(self, caller: Caller) -> SecretPolicies:
        """Return what is done about secrets in the texts of a caller."""
        return caller.access.secrets.over(self.secret_policies)

    def draft(self, caller: Caller, *, writes: int = 0) -> Draft:
        """Return an empty draft of a caller's; its commit counts as so many writes."""
        return Draft(
            self.database,
            caller.access,
            max_files=self._max_files,
            max_journal_bytes=self.max_journal_bytes,
            is_embedded=self.query_embedder.embedder is not None,
            limits=self.rate_limits.write_rates(caller, writes),
        )

    async def _run(
        self, caller: Caller, tool: AnyTool, call: Call, guarded: GuardedArguments, *, writes: int = 0
    ) -> dict[str, Any]:
        parsed = tool.parse(guarded.used)
        if not (tool.is_read_only or is_dry_run(parsed)):
            caller = await self.identities.admit(caller)

        async def run(current: Caller) -> dict[str, Any]:
            checked = await guarded.under(self.policies_of(current), call)
            accepted = parsed if checked is guarded else tool.parse(checked.used)
            asked = call.with_arguments(accepted.canonical())
            if asked.request.accepted_id is not None and checked.used is not checked.given:
                await queue.redact(self.database, current.access, asked)
            try:
                answer = await tool.run(self._tool_context(current, asked, writes), accepted)
            except VectorsLost:  # nothing was written; it is known now, and the call is answered by words
                answer = await tool.run(self._tool_context(current, asked, writes), accepted)
            if not is_of_the_present(tool, accepted):
                own_id = call.request.tool_call_id
                answer = await without_forgotten(self.database, current, answer, own_id=own_id)
            result = checked.reported(answer)
            if tool.is_read_only and asked.record.is_unlogged and not result.get("degraded"):
                result = result | {"degraded": UNLOGGED}
            return result | {"tool_call_id": call.request.tool_call_id}

        return await self.identities.run_with_rights(caller, call, run)

    def _tool_context(self, caller: Caller, call: Call, writes: int) -> ToolContext:
        """Return the context in which a tool runs for one call of this service."""
        access, renew = caller.access, partial(self.identities.with_conversations, caller)
        return ToolContext(
            access=access,
            call=call,
            log=CallLogger(self.database, access, call),
            snapshots=LiveSnapshots(self.database, access, call=call),
            new_draft=partial(self.draft, caller, writes=writes),
            query_embedder=self.query_embedder,
            planners=self.planners,
            spending=TenantSpending(self.database, access, datetime.now(UTC).date(), self.planners.daily_usd),
            call_locks=self._call_locks,
            database=self.database,
            sections=LiveSections(
                KINDS, self.database, access, call, self._include, renew, self.query_embedder
            ),
            prompts_dir=self.prompts_dir,
            rendering=self.rendering,
            min_confidence=self.min_confidence,
            keeps_journal=self.keeps_journal,
            rates=self.rate_limits.write_rates(caller, writes),
            load_dry_run=partial(load_dry_run, self.database, access),
        )

    async def _log_refusal(
        self,
        principal: Principal,
        context: CallContext,
        action: str,
        tool_call_id: str | None,
        refusal: Refused,
    ) -> None:
        context_user = CallContext(principal.bound_user or context.user_id, channel=context.channel)
        try:
            caller = Caller(principal, await self.identities.resolve(principal, context_user))
            given = {"user": context.user_id, "project": context.project}
            with suppress(type(refusal)):
                async with self.recorder.recorded(caller, action, given, tool_call_id=tool_call_id):
                    raise refusal
        except MemexError:
            self._log.warning("call_refused", key_id=principal.key_id, code=refusal.code)
