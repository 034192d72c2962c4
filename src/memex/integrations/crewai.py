"""Memory as tools of CrewAI.

agent = Agent(role=…, goal=…, backstory=…, llm=…, tools=memory_tools(user_id="alice"))

CrewAI's packages cannot be installed beside those of Memex. So this module needs a Memex that runs, and of its
packages only httpx2 and tenacity, which CrewAI brings along: `pip install --no-deps ./memex`, from a checkout.
"""

import asyncio
import os
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from crewai.tools import BaseTool  # type: ignore[import-not-found]  # never installed beside Memex  # never beside Memex's own packages
from crewai.tools.tool_failure import ToolFailure  # type: ignore[import-not-found]  # never installed beside Memex
from pydantic import BaseModel, ConfigDict, PrivateAttr

from memex.errors import ValidationFailed
from memex.remote import CallContext, Remote
from memex.toolcalls import including, run

T = TypeVar("T")


class CrewAIMemoryTool(BaseTool):  # type: ignore[misc]  # as above
    """One tool over one user's memory; a refusal of Memex is a failure that the model reads.

    CrewAI does not tell a tool the id of its call: each goes to the log under a new one.
    """

    _address: tuple[str, str] = PrivateAttr()
    _context: CallContext = PrivateAttr()
    _allowed_arguments: tuple[str, ...] = PrivateAttr()
    _include: Sequence[str] | None = PrivateAttr()

    def __init__(
        self,
        definition: dict[str, Any],
        address: tuple[str, str],
        context: CallContext,
        include: Sequence[str] | None = None,
    ) -> None:
        super().__init__(
            name=definition["name"],
            description=definition["description"],
            args_schema=_arguments(definition),
            cache_function=lambda *_: False,  # memory changes between two calls that are alike
        )
        self._address = address
        self._context = context
        self._include = include
        self._allowed_arguments = tuple(definition["parameters"]["properties"])

    async def _arun(self, **arguments: Any) -> str | ToolFailure:
        async with Remote(*self._address) as remote:  # each call may come from another thread and event loop
            execute = partial(self._execute, remote)
            outcome = await run(execute, self.name, arguments, allowed={self.name: self._allowed_arguments})
        return outcome.text if outcome.error is None else ToolFailure(message=outcome.text)

    async def _execute(self, remote: Remote, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return await remote.execute(self._context, tool, including(tool, arguments, self._include))

    def _run(self, **arguments: Any) -> str | ToolFailure:
        return _run_to_end(self._arun(**arguments))


def memory_tools(
    *,
    url: str | None = None,
    api_key: str | None = None,
    user_id: str | None = None,
    actor: str | None = None,
    project: str | None = None,
    profile: str = "agent",
    include: Sequence[str] | None = None,
) -> list[BaseTool]:
    """Return the tools of a profile over one user's memory, as the service describes them.

    Args:
        url: of the service; by default MEMEX_URL.
        api_key: for it; by default MEMEX_API_KEY.
        user_id: whose memory; None for a key that is bound to its user.
        actor: who acts for the user, such as the program's name.
        project: the slug of the one that the work is about.
        profile: agent, the two tools, or files, all of them.
        include: what contexts hold beside memory, such as `["conversations"]`; by default what the service says.

    Raises:
        MemexError: there is no address or key, or the service refuses.
    """
    address = url or os.environ.get("MEMEX_URL", ""), api_key or os.environ.get("MEMEX_API_KEY", "")
    if not all(address):
        raise ValidationFailed("There is no address or no key.", hint="Set MEMEX_URL and MEMEX_API_KEY.")
    context = CallContext(user_id, actor, project)
    return [
        CrewAIMemoryTool(definition, address, context, include)
        for definition in _run_to_end(_definitions(address, profile))
    ]


async def _definitions(address: tuple[str, str], profile: str) -> list[dict[str, Any]]:
    async with Remote(*address) as remote:
        asked = {"format": "openai-responses", "profile": profile}
        return list((await remote.json("GET", "/tools", params=asked))["tools"])


def _arguments(definition: dict[str, Any]) -> type[BaseModel]:
    """Return a model that says the service's schema and lets every argument through: the service checks them."""

    class Arguments(BaseModel):
        model_config = ConfigDict(extra="allow", title=definition["name"])

        @classmethod
        def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
            return dict(definition["parameters"])

    return Arguments


def _run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine returns, whether or not the caller stands in an event loop."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
