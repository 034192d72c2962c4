"""Lines that were taken out, from Python: `memory.removed.list()` and `memory.removed.put_back(id)`."""

from memex.api.user_calls import UserCalls
from memex.service.tools.removed import PUT_BACK, REMOVED, PutBackResult, RemovedResult
from memex.store.removed_lines import RemovedState


class Removed(UserCalls):
    """The lines that were taken out of the files of one user, and of the projects of that user."""

    async def list(
        self,
        *,
        state: RemovedState | None = None,
        edited: bool = False,
        prefix: str = "",
        limit: int = 50,
        cursor: str | None = None,
    ) -> RemovedResult:
        """Return the lines that are not put back, the newest first.

        Without a `state`, they are those that are `replaced`, `closed` and `forgotten`. With `edited`, they are
        also those that somebody took out by editing the file.
        """
        asked = {"state": state, "all": edited, "prefix": prefix, "limit": limit, "cursor": cursor}
        return RemovedResult.model_validate(await self._api.execute(self._context, REMOVED.name, asked))

    async def put_back(self, line_id: str, *, tool_call_id: str | None = None) -> PutBackResult:
        """Put a line back into its file; raises LineNotFound if it is not taken out any more."""
        context = self._context.under(tool_call_id)
        return PutBackResult.model_validate(await self._api.execute(context, PUT_BACK.name, {"id": line_id}))
