"""Calls for one user, with typed results: what the parts of `UserMemory` have in common."""

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any, TypeVar

from pydantic import BaseModel

from memex.api.protocol import MemexApi
from memex.call_context import CallContext
from memex.service.conversations.lines import to_lines

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
        lines: Iterable[Mapping[str, Any]] | None = None,
        **arguments: Any,
    ) -> R:
        """Return the result of an operation of `memex.routes`; times are sent as text, `lines` as JSON lines."""
        given = {
            argument: value.isoformat() if isinstance(value, date) else value
            for argument, value in arguments.items()
        }
        sent = None if lines is None else to_lines(lines)
        done = await self._api.call(self._context.under(tool_call_id), name, given, lines=sent)
        return result.model_validate(done)
