"""Cases made of calls, in this process: a part of `LocalMemex`."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from memex.api.protocol import Document
from memex.call_context import CallContext
from memex.service.evals import case_requests
from memex.service.evals.call_cases import CaseChoice
from memex.service.service import Caller, Service


class LocalEvals(ABC):
    """Cases of calls, as a caller may ask for them."""

    @abstractmethod
    async def caller(
        self, context: CallContext, action: str = "call", *, from_cache: bool = False
    ) -> tuple[Service, Caller]:
        """Return the service, and who makes a call."""

    async def draft_case(
        self, context: CallContext, tool_call_id: str, choice: Mapping[str, Any]
    ) -> Document:
        """Return what a case of a call would contain; `choice` has the fields of `CaseChoice`."""
        service, caller = await self.caller(context)
        made = await case_requests.draft_case(service, caller, tool_call_id, CaseChoice.of(**choice))
        return made.model_dump(mode="json")

    async def make_case(self, context: CallContext, tool_call_id: str, choice: Mapping[str, Any]) -> bytes:
        """Return a zip of a case of a call."""
        service, caller = await self.caller(context)
        return await case_requests.pack_case(service, caller, tool_call_id, CaseChoice.of(**choice))

    async def keep_case(self, context: CallContext, tool_call_id: str, choice: Mapping[str, Any]) -> Document:
        """Keep a case of a call in the folder of the service."""
        service, caller = await self.caller(context)
        made = await case_requests.keep_case(service, caller, tool_call_id, CaseChoice.of(**choice))
        return made.model_dump(mode="json")
