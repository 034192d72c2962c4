"""Calls of operations and tools over HTTP."""

from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Response

from memex.http.answers import json_answer
from memex.http.callers import HeaderCaller, HeaderToolCallId, ServiceDependency, ToolCaller
from memex.service.call import Caller
from memex.service.operation import RunsOperation
from memex.service.service import Service

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HttpCall:
    """The call that a request makes: the service, who calls as the headers say, and under which id."""

    service: Service
    caller: Caller
    tool_call_id: str | None

    async def run(self, run: RunsOperation[T], /, **arguments: Any) -> T:
        """Return the result of an operation."""
        return await run(self.service, self.caller, arguments, tool_call_id=self.tool_call_id)

    async def execute(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Return the result of a tool."""
        return await self.service.execute(self.caller, tool, arguments, tool_call_id=self.tool_call_id)

    async def answer(self, tool: str, /, **arguments: Any) -> Response:
        """Return the result of a tool as a response."""
        return json_answer(await self.execute(tool, **arguments))


async def call_of(
    service: ServiceDependency, caller: HeaderCaller, tool_call_id: HeaderToolCallId
) -> HttpCall:
    """Return the call of a route that is no tool's."""
    return HttpCall(service, caller, tool_call_id)


async def tool_call_of(
    service: ServiceDependency, caller: ToolCaller, tool_call_id: HeaderToolCallId
) -> HttpCall:
    """Return the call of a route that does nothing but run a tool."""
    return HttpCall(service, caller, tool_call_id)


Call = Annotated[HttpCall, Depends(call_of)]
ToolRouteCall = Annotated[HttpCall, Depends(tool_call_of)]
