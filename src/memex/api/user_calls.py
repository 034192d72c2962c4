"""Calls for one user, with typed results: what the parts of `UserMemory` have in common.

A method without a body is a declaration: `operation` or `tool` makes the method that calls what it declares.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import date
from functools import partial, wraps
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from memex.api.protocol import MemexApi
from memex.call_context import CallContext
from memex.service.conversations.lines import to_lines

R = TypeVar("R", bound=BaseModel)
F = TypeVar("F", bound=Callable[..., Awaitable[BaseModel]])


def operation(name: str, **names: str) -> Callable[[F], F]:
    """Make a method of its declaration: it runs an operation of `memex.routes`, and returns the declared result.

    Args:
        name: of the operation.
        names: the names of arguments, by those of the parameters, where the two differ. The parameter
            `tool_call_id` says under which id the call is logged.
    """
    return partial(_made, lambda self, kind, own_id, given: self._run(kind, name, own_id, **given), names)


def tool(name: str, **names: str) -> Callable[[F], F]:
    """Make a method of its declaration: it runs a tool; see `operation`."""
    return partial(_made, lambda self, kind, own_id, given: self._call(kind, name, own_id, **given), names)


def _made(run: Callable[..., Awaitable[BaseModel]], names: Mapping[str, str], declared: F) -> F:
    signature = inspect.signature(declared)

    @wraps(declared)
    async def method(*values: Any, **named: Any) -> BaseModel:
        given = signature.bind(*values, **named)
        given.apply_defaults()
        (_, memory), *arguments = given.arguments.items()
        own_id = given.arguments.get("tool_call_id")
        asked = {names.get(one, one): value for one, value in arguments if one != "tool_call_id"}
        return await run(memory, signature.return_annotation, own_id, asked)

    return cast("F", method)


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
        """Return the result of an operation of `memex.routes`; `lines` are sent as JSON lines."""
        sent = None if lines is None else to_lines(lines)
        done = await self._api.call(self._context.under(tool_call_id), name, plain(arguments), lines=sent)
        return result.model_validate(done)

    async def _call(self, result: type[R], name: str, tool_call_id: str | None, /, **arguments: Any) -> R:
        """Return the result of a tool."""
        done = await self._api.execute(self._context.under(tool_call_id), name, plain(arguments))
        return result.model_validate(done)


def plain(value: Any) -> Any:
    """Return a value as JSON has it: times as text, and what is a sequence as a list."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {one: plain(inner) for one, inner in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [plain(one) for one in value]
    return value
