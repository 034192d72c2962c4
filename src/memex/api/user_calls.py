"""Calls for one user, with typed results: what the parts of `UserMemory` have in common."""

from datetime import date
from typing import Any, TypeVar

from pydantic import BaseModel

from memex.api.protocol import MemexApi
from memex.call_context import CallContext

R = TypeVar("R", bound=BaseModel)


class UserCalls:
    """The operations of a Memex for one user."""

    def __init__(self, api: MemexApi, context: CallContext) -> None:
        self._api = api
        self._context = context

    async def _run(
        self,
        result: type[R],
        name: str,
        tool_call_id: str | None = None,
        /,
        *,
        lines: bytes | None = None,
        **arguments: Any,
    ) -> R:
        """Return the result of an operation of `memex.routes`; times are sent as text."""
        given = {
            one: value.isoformat() if isinstance(value, date) else value for one, value in arguments.items()
        }
        done = await self._api.call(self._context.under(tool_call_id), name, given, lines=lines)
        return result.model_validate(done)
