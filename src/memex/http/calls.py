"""Calls of operations and tools over HTTP."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request, Response
from pydantic import BaseModel

from memex.http.answers import hashed_answer, json_answer
from memex.http.callers import HeaderCaller, HeaderContext, ServiceDependency, ToolCaller
from memex.http.parsing import check_lines
from memex.routes import ROUTES
from memex.service.call import Caller
from memex.service.operations import ON_LINES, run_operation
from memex.service.service import Service


@dataclass(frozen=True, slots=True)
class HttpCall:
    """The call that a request makes: the service, who calls as the headers say, and under which id."""

    service: Service
    caller: Caller
    tool_call_id: str | None

    async def run(self, name: str, /, **arguments: Any) -> Any:
        """Return the result of an operation."""
        return await run_operation(self.service, self.caller, name, arguments, tool_call_id=self.tool_call_id)

    async def execute(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Return the result of a tool."""
        return await self.service.execute(self.caller, tool, arguments, tool_call_id=self.tool_call_id)

    async def answer(self, tool: str, /, **arguments: Any) -> Response:
        """Return the result of a tool as a response."""
        return json_answer(await self.execute(tool, **arguments))


async def call_of(service: ServiceDependency, caller: HeaderCaller, context: HeaderContext) -> HttpCall:
    """Return the call of a route that is no tool's."""
    return HttpCall(service, caller, context.tool_call_id)


async def tool_call_of(service: ServiceDependency, caller: ToolCaller, context: HeaderContext) -> HttpCall:
    """Return the call of a route that does nothing but run a tool."""
    return HttpCall(service, caller, context.tool_call_id)


async def body_of(request: Request) -> bytes:
    """Return the body of a route that takes JSON lines; raises ValidationFailed if an object has a key twice."""
    body = await request.body()
    check_lines(body)
    return body


Call = Annotated[HttpCall, Depends(call_of)]
ToolRouteCall = Annotated[HttpCall, Depends(tool_call_of)]


def handler_of(
    name: str, declared: Callable[..., Any], names: Mapping[str, str] | None = None
) -> Callable[..., Any]:
    """Return a new handler that runs an operation with what a request gives.

    Args:
        name: of the operation.
        declared: a function without a body. It has the parameters of the request, of which a body gives an argument
            for each of its fields; the model of the answer; and the description of the route. With the header
            `if_none_match`, the ETag of the answer is its hash.
        names: the names of arguments, by their names in the path; by default those of `memex.routes`.
    """
    named = ROUTES[name].names if names is None else names
    taken = inspect.signature(declared)
    is_hashed = "if_none_match" in taken.parameters

    async def handle(
        call: HttpCall, lines: bytes | None = None, if_none_match: str | None = None, **given: Any
    ) -> Any:
        arguments: dict[str, Any] = {}
        for argument, value in given.items():
            if isinstance(value, BaseModel):
                arguments |= value.model_dump(exclude_unset=True)
            elif value is not None:
                arguments[named.get(argument, argument)] = value
        done: Any = await run_operation(
            call.service, call.caller, name, arguments, lines, tool_call_id=call.tool_call_id
        )
        if is_hashed:
            return hashed_answer(done, done.hash, if_none_match)
        return json_answer(done) if isinstance(done, dict) else done

    own = {"call": Call} | ({"lines": Annotated[bytes, Depends(body_of)]} if name in ON_LINES else {})
    parameters = [
        *(
            inspect.Parameter(argument, inspect.Parameter.KEYWORD_ONLY, annotation=kind)
            for argument, kind in own.items()
        ),
        *(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in taken.parameters.values()),
    ]
    handle.__name__, handle.__doc__ = declared.__name__, declared.__doc__
    handle.__signature__ = taken.replace(parameters=parameters)  # type: ignore[attr-defined]  # FastAPI reads it
    return handle
