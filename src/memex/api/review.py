"""What waits for a person, from Python: `memory.waiting.list()` and `memory.waiting.decide({id: "keep"})`."""

from collections.abc import Mapping

from memex.api.protocol import MemexApi
from memex.call_context import CallContext
from memex.service.review.items import DecidedResult, Decision, ItemKind, ReviewResult


class Review:
    """What waits for a person in the memory of one user."""

    def __init__(self, api: MemexApi, context: CallContext) -> None:
        self._api = api
        self._context = context

    async def list(
        self, *, kind: ItemKind | None = None, limit: int = 50, cursor: str | None = None
    ) -> ReviewResult:
        """Return what waits, the newest first."""
        found = await self._api.review(self._context, kind=kind, limit=limit, cursor=cursor)
        return ReviewResult.model_validate(found)

    async def decide(self, decisions: Mapping[str, Decision]) -> DecidedResult:
        """Carry out decisions by the ids of items: `apply`, `keep`, or `reopen` for what was kept."""
        return DecidedResult.model_validate(await self._api.decide_review(self._context, decisions))
