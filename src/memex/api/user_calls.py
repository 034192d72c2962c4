"""Calls for one user, with typed results: what the parts of `UserMemory` have in common."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import date, datetime
from functools import wraps
from inspect import signature
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from memex.api.protocol import MemexApi
from memex.call_context import CallContext
from memex.service.conversations.lines import to_lines

AsOf = datetime | str | Mapping[str, int]  # a time with its zone, or the state of an earlier answer
R = TypeVar("R", bound=BaseModel)
M = TypeVar("M", bound=Callable[..., Awaitable[BaseModel]])


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
        done = await self._api.call(self._context.under(tool_call_id), name, _plain(arguments), lines=sent)
        return result.model_validate(done)


def operation(name: str, *, lines: str | None = None, **names: str) -> Callable[[M], M]:
    """Make a method that runs an operation of `memex.routes` of a declaration, which has no body.

    Its parameters are the arguments of the operation, and `tool_call_id`; it returns the model of the answer.
    The parameter `lines` is sent as JSON lines, and `names` has the arguments that are called otherwise.
    """

    async def run(self: UserCalls, given: dict[str, Any], tool_call_id: str | None) -> Mapping[str, Any]:
        sent = None if lines is None else to_lines(given.pop(lines))
        arguments = {names.get(argument, argument): _plain(value) for argument, value in given.items()}
        return await self._api.call(self._context.under(tool_call_id), name, arguments, lines=sent)

    return _method(run)


def tool(name: str) -> Callable[[M], M]:
    """Make a method of `UserMemory` that runs a tool, as `operation` does."""

    async def run(self: Any, arguments: dict[str, Any], tool_call_id: str | None) -> Mapping[str, Any]:
        done = await self.execute(name, _plain(arguments), tool_call_id=tool_call_id)
        return cast("dict[str, Any]", done)

    return _method(run)


def _method(
    run: Callable[[Any, dict[str, Any], str | None], Awaitable[Mapping[str, Any]]],
) -> Callable[[M], M]:
    def make(declared: M) -> M:
        taken = signature(declared)

        @wraps(declared)
        async def method(*args: Any, **named: Any) -> Any:
            bound = taken.bind(*args, **named)
            bound.apply_defaults()
            given = bound.arguments
            self, tool_call_id = given.pop("self"), given.pop("tool_call_id", None)
            return taken.return_annotation.model_validate(await run(self, given, tool_call_id))

        return cast("M", method)

    return make


def _plain(value: Any) -> Any:
    """Return an argument as JSON has it."""
    match value:
        case str() | bytes():
            return value
        case date():
            return value.isoformat()
        case BaseModel():
            return value.model_dump(mode="json")
        case Mapping():
            return {name: _plain(one) for name, one in value.items()}
        case Iterable():
            return [_plain(one) for one in value]
        case _:
            return value
