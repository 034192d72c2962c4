"""Memory as tools of Google's Agent Development Kit, and as its memory service.

agent = LlmAgent(name="assistant", model=…, tools=memory_tools(memex.for_user("alice")))
runner = Runner(agent=agent, memory_service=MemoryService(memex), …)
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from memex.api.memex import Memex, UserMemory
from memex.integrations.extras import required_extra
from memex.integrations.profiles import answer, definitions
from memex.service.tools.definitions import Profile, ToolDefinition
from memex.settings import Include

with required_extra("google-adk"):
    from google.adk.events.event import Event
    from google.adk.memory import BaseMemoryService
    from google.adk.memory.base_memory_service import SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.adk.sessions.session import Session
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.tool_context import ToolContext
    from google.genai.types import Content, FunctionDeclaration, Part


class AdkMemoryTool(BaseTool):
    """One tool over one user's memory; a refusal of Memex is a response with an `error` that the model reads."""

    def __init__(self, memory: UserMemory, definition: ToolDefinition, profile: Profile) -> None:
        super().__init__(name=definition.name, description=definition.description)
        self._memory = memory
        self._profile: Profile = profile
        self._parameters = definition.parameters

    def _get_declaration(self) -> FunctionDeclaration:
        return FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=self._parameters
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> dict[str, Any]:
        """Run a call under its id."""
        call_id = tool_context.function_call_id
        outcome = await answer(self._memory, self.name, args, tool_call_id=call_id, profile=self._profile)
        return {"result": outcome.text} if outcome.error is None else dict(json.loads(outcome.text))


def memory_tools(memory: UserMemory, *, profile: Profile = "agent") -> list[BaseTool]:
    """Return the tools of a profile over one user's memory."""
    return [AdkMemoryTool(memory, definition, profile) for definition in definitions(profile)]


class MemoryService(BaseMemoryService):
    """ADK's memory service: whose memory it is says the session's `user_id`, which the host gave.

    Of a session the user's own words are remembered, each event once however often it is added.

    Args:
        memex: the service, here or over HTTP.
        include: as for `Memex.for_user`.
    """

    def __init__(self, memex: Memex, *, include: Include = None) -> None:
        self._memex = memex
        self._include = include

    async def add_session_to_memory(self, session: Session) -> None:
        """Remember what the user said in a session."""
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,  # noqa: ARG002  # an event's id is unique without it
        custom_metadata: Mapping[str, object] | None = None,  # noqa: ARG002  # has no place in a text
    ) -> None:
        """Remember what the user said in events."""
        memory = self._memex.for_user(user_id, actor=app_name)
        for event in events:
            text = "\n".join(part.text for part in (event.content and event.content.parts) or () if part.text)
            if event.author == "user" and text.strip():
                await memory.remember(text, tool_call_id=f"adk-event-{event.id}")

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return what memory holds about a query as one entry, the text of memory_context, or none."""
        memory = self._memex.for_user(user_id, actor=app_name, include=self._include)
        found = await memory.context(query)
        entry = MemoryEntry(content=Content(role="user", parts=[Part(text=found.context)]))
        return SearchMemoryResponse(memories=[entry] if found.sources else [])
