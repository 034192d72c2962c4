"""Calls of operations over HTTP."""

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, TypeVar

from fastapi import Depends

from memex.http.callers import HeaderCaller, HeaderToolCallId, ServiceDependency
from memex.service.call import Caller
from memex.service.service import Service

R_co = TypeVar("R_co", covariant=True)


class RunsCall(Protocol[R_co]):
    """Runs an operation for a caller."""

    def __call__(
        self, service: Service, caller: Caller, given: dict[str, Any], /, *, tool_call_id: str | None
    ) -> Awaitable[R_co]:
        """Return the result."""
        ...


@dataclass(frozen=True, slots=True)
class HttpCall:
    """The call that a request makes: the service, who calls as the headers say, and under which id."""

    service: Service
    caller: Caller
    tool_call_id: str | None

    async def run(self, run: RunsCall[R_co], /, **arguments: Any) -> R_co:
        """Return the result of an operation."""
        return await run(self.service, self.caller, arguments, tool_call_id=self.tool_call_id)


async def call_of(
    service: ServiceDependency, caller: HeaderCaller, tool_call_id: HeaderToolCallId
) -> HttpCall:
    """Return the call that a request makes."""
    return HttpCall(service, caller, tool_call_id)


Call = Annotated[HttpCall, Depends(call_of)]
