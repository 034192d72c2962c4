"""Operations that answer from one function: the frame of each call, from the guard of its query to its log."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

from memex.service.call import Caller, check_role, to_plain
from memex.service.recording import CallLogger
from memex.service.secrets.guard import guard
from memex.service.service import Service
from memex.service.tools.tool import A, Arguments, Tool, ToolResult
from memex.store.access import Access, Role
from memex.store.database import Connection, Database
from memex.store.log.call import CallAnswer
from memex.store.records import Status

R = TypeVar("R", bound=ToolResult)

T_co = TypeVar("T_co", covariant=True)


class RunsOperation(Protocol[T_co]):
    """Runs an operation for a caller, with arguments as they came."""

    def __call__(
        self, service: Service, caller: Caller, given: dict[str, Any], /, *, tool_call_id: str | None
    ) -> Awaitable[T_co]:
        """Return the result."""
        ...


class RunsOnLines(Protocol[T_co]):
    """Runs an operation that also takes JSON lines."""

    def __call__(
        self,
        service: Service,
        caller: Caller,
        given: dict[str, Any],
        lines: bytes,
        /,
        *,
        tool_call_id: str | None,
    ) -> Awaitable[T_co]:
        """Return the result."""
        ...


class NoArguments(Arguments):
    """No arguments."""


@dataclass(frozen=True, slots=True)
class OperationCall:
    """One call of an operation: the service that is asked, who asks, the log of the call, and its JSON lines."""

    service: Service
    caller: Caller
    log: CallLogger
    lines: bytes = b""

    @property
    def access(self) -> Access:
        """The memory that the caller may read and write."""
        return self.caller.access

    @property
    def database(self) -> Database:
        """The database of the service."""
        return self.service.database

    async def commit(self, connection: Connection, result: ToolResult, arguments: Arguments) -> None:
        """Log a result in the transaction that makes it so."""
        answer = CallAnswer(result.body(), arguments.canonical(), result.body())
        await self.log.add("committed", answer, connection=connection)

    @property
    def now(self) -> datetime:
        """The time of the call."""
        return self.log.call.request.now


@dataclass(frozen=True, slots=True)
class LoggedAnswer(Generic[R]):
    """The result of a call, and how it is logged.

    Attributes:
        logged: what the log keeps of it; None: the call is not logged, or has been logged.
        state: the number of changes that the call saw of each mount.
        config: what of the settings shaped the answer, such as a prompt.
    """

    result: R
    logged: dict[str, Any] | None
    state: dict[str, int] | None = None
    status: Status = "answered"
    config: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class LoggedOperation(Tool[A], Generic[A, R]):
    """An operation whose answer is logged when its function has returned it.

    Attributes:
        run: answers a call; what it raises is logged as a failed or denied call.
        role: the role that may call it; None for any.
        guards_query: whether a secret in `query` is treated as in a query of `memory_find`.
        opens_conversations: whether the user gets a scope of conversations if there is none yet.
        unlogged: the arguments that the log does not keep.
    """

    run: Callable[[OperationCall, A], Awaitable[LoggedAnswer[R]]]
    role: Role | None = None
    guards_query: bool = False
    opens_conversations: bool = False
    unlogged: frozenset[str] = frozenset()

    async def call(
        self,
        service: Service,
        caller: Caller,
        given: dict[str, Any],
        lines: bytes = b"",
        *,
        tool_call_id: str | None = None,
    ) -> R:
        """Return the result of a call with arguments as they came; None means absent.

        Raises:
            ValidationFailed: an argument is wrong.
            MemexError: what `run` raises.
        """
        asked = {name: value for name, value in given.items() if value is not None}
        if self.guards_query and isinstance(query := asked.get("query"), str):
            guarded = await guard(service.policies_of(caller), "memory_find", {"query": query})
            asked["query"] = guarded.used["query"]
        shown = {name: to_plain(value) for name, value in asked.items() if name not in self.unlogged}
        if self.opens_conversations:
            check_role(caller.principal, self.role or caller.principal.role)
            caller = Caller(caller.principal, await service.identities.open_conversations(caller))
        async with service.recorder.recorded(caller, self.name, shown, tool_call_id=tool_call_id) as log:
            if self.role is not None:
                check_role(caller.principal, self.role)
            arguments = self.parse(asked)
            made = await self.run(OperationCall(service, caller, log, lines), arguments)
            if made.logged is not None:
                kept = {k: v for k, v in arguments.canonical().items() if k not in self.unlogged}
                answer = CallAnswer(made.result.body(), kept, made.logged, made.config)
                await log.add(made.status, answer, state=made.state)
        return made.result.model_copy(update={"tool_call_id": log.call.request.tool_call_id})
