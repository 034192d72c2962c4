"""What an MCP server asks: one user's memory, in this process or at a service over HTTP."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from memex.errors import Forbidden, ValidationFailed
from memex.mcp.tools import OPERATION, OPERATIONS, REVERT
from memex.remote import CallContext
from memex.service.service import Caller, Service
from memex.service.tools.prompt_block import NAME as PROMPT_BLOCK
from memex.service.tools.prompt_block import prompt_block
from memex.store.access import Role
from memex.store.identity.authentication import Context, Principal


class McpBackend(Protocol):
    """A Memex: `ServedMemex`, or a `memex.remote.Remote`. All methods raise MemexErrors."""

    async def execute(
        self, who: CallContext, tool: str, arguments: Mapping[str, Any], *, tool_call_id: str | None = None
    ) -> dict[str, Any]:
        """Run a tool and return its result."""
        ...

    async def revert(
        self, who: CallContext, reverted: str, *, reason: str | None = None, tool_call_id: str | None = None
    ) -> dict[str, Any]:
        """Undo what a call wrote."""
        ...

    async def operations(self, who: CallContext, *, limit: int, cursor: str | None) -> dict[str, Any]:
        """Return the user's calls, the newest first."""
        ...

    async def operation(self, who: CallContext, tool_call_id: str) -> list[dict[str, Any]]:
        """Return the attempts at a call."""
        ...

    async def prompt_block(
        self, who: CallContext, *, budget: int | None, project: str | None, tool_call_id: str | None
    ) -> dict[str, Any]:
        """Return a text for a system prompt."""
        ...


@dataclass(frozen=True, slots=True)
class McpUserMemory:
    """The memory that a connection was made for. What a model says cannot change whose it is."""

    asked: McpBackend
    who: CallContext

    async def execute(
        self, tool: str, arguments: Mapping[str, Any], *, tool_call_id: str | None = None
    ) -> dict[str, Any]:
        """Run a tool, an admin's own ones included, and return its result."""
        given = dict(arguments)
        if tool == OPERATIONS.name:
            page = OPERATIONS.parse(given)
            return await self.asked.operations(self.who, limit=page.limit, cursor=page.cursor)
        if tool == OPERATION.name:
            shown = OPERATION.parse(given)
            return {"attempts": await self.asked.operation(self.who, shown.tool_call_id)}
        if tool == REVERT.name:
            undone = REVERT.parse(given)
            return await self.asked.revert(
                self.who, undone.tool_call_id, reason=undone.reason, tool_call_id=tool_call_id
            )
        return await self.asked.execute(self.who, tool, given, tool_call_id=tool_call_id)

    async def prompt_block(self, *, project: str | None) -> str:
        """Return the text for a system prompt."""
        block = await self.asked.prompt_block(self.who, budget=None, project=project, tool_call_id=None)
        return str(block["text"])


@dataclass(frozen=True, slots=True)
class ServedMemex:
    """A service of this process, asked by whoever holds a key, or runs this process.

    Attributes:
        service: that answers.
        principal: who asks.
        role: that the profile is for.
        hint: how a caller says for whom it asks, for an error.
    """

    service: Service
    principal: Principal
    role: Role
    hint: str = "Send the header Memex-User, or use a key that is bound to a user."

    async def execute(
        self, who: CallContext, tool: str, arguments: Mapping[str, Any], *, tool_call_id: str | None = None
    ) -> dict[str, Any]:
        """Run a tool and return its result."""
        caller = await self._caller(who, tool, tool_call_id)
        return await self.service.execute(caller, tool, dict(arguments), tool_call_id=tool_call_id)

    async def revert(
        self, who: CallContext, reverted: str, *, reason: str | None = None, tool_call_id: str | None = None
    ) -> dict[str, Any]:
        """Undo what a call wrote."""
        caller = await self._caller(who, REVERT.name, tool_call_id)
        return await self.service.revert(caller, reverted, reason=reason, tool_call_id=tool_call_id)

    async def operations(self, who: CallContext, *, limit: int, cursor: str | None) -> dict[str, Any]:
        """Return the user's calls, the newest first."""
        caller = await self._caller(who, OPERATIONS.name)
        found = await self.service.operations(caller, limit=limit, cursor=cursor)
        return found.model_dump(mode="json")

    async def operation(self, who: CallContext, tool_call_id: str) -> list[dict[str, Any]]:
        """Return the attempts at a call."""
        found: Sequence[Any] = await self.service.operation(
            await self._caller(who, OPERATION.name), tool_call_id
        )
        return [attempt.model_dump(mode="json") for attempt in found]

    async def prompt_block(
        self, who: CallContext, *, budget: int | None, project: str | None, tool_call_id: str | None
    ) -> dict[str, Any]:
        """Return a text for a system prompt."""
        caller = await self._caller(who, PROMPT_BLOCK, tool_call_id)
        block = await prompt_block(
            self.service, caller, budget=budget, project=project, tool_call_id=tool_call_id
        )
        return block.model_dump(mode="json")

    async def _caller(self, who: CallContext, action: str, tool_call_id: str | None = None) -> Caller:
        context = Context(who.user_id, who.actor, who.project)
        try:
            return await self.service.caller(
                self.principal, context, role=self.role, action=action, tool_call_id=tool_call_id
            )
        except ValidationFailed as error:
            if self.role == "admin" or who.user_id is not None or self.principal.bound_user is not None:
                raise
            # Not an argument that a model could mend: the connection was set up for nobody.
            raise Forbidden("This connection says for nobody whose memory it is.", hint=self.hint) from error
