"""Cases made of calls and runs of cases, in this process: a part of `LocalMemex`."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from memex.api.protocol import Document
from memex.call_context import CallContext
from memex.service.evals import case_requests, run_views
from memex.service.evals.call_cases import CaseChoice
from memex.service.service import Caller, Service


class LocalEvals(ABC):
    """Cases and runs, as a caller may ask for them."""

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

    async def list_eval_runs(self, context: CallContext) -> Document:
        """Return the runs of test cases that the service shows, the newest first."""
        service, caller = await self.caller(context)
        return (await run_views.list_runs(service, caller)).model_dump(mode="json")

    async def read_eval_run(self, context: CallContext, run_id: str) -> Document:
        """Return a run of test cases."""
        service, caller = await self.caller(context)
        return (await run_views.read_run(service, caller, run_id)).model_dump(mode="json")

    async def compare_eval_runs(self, context: CallContext, before_id: str, after_id: str) -> Document:
        """Return a run of test cases beside an earlier one, case by case."""
        service, caller = await self.caller(context)
        return (await run_views.compare_runs(service, caller, before_id, after_id)).model_dump(mode="json")
