"""Items that wait for a person: `memory.waiting.list()` and `memory.waiting.decide({id: "keep"})`."""

from collections.abc import Mapping

from memex.api.user_calls import UserCalls, operation
from memex.service.review.items import DecidedResult, Decision, ItemKind, ReviewResult


class Review(UserCalls):
    """The items that wait for a person in the memory of one user, and decisions about them."""

    @operation("review_list")
    async def list(
        self, *, kind: ItemKind | None = None, limit: int = 50, cursor: str | None = None
    ) -> ReviewResult:
        """Return what waits, the newest first."""

    async def decide(self, decisions: Mapping[str, Decision]) -> DecidedResult:
        """Carry out decisions by the ids of items: `apply`, `keep`, or `reopen` for what was kept."""
        chosen = [{"id": item, "decision": decision} for item, decision in decisions.items()]
        return await self._run(DecidedResult, "review_decide", decisions=chosen)
