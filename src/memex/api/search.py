"""What a search does, from Python: `memory.search.explain("Which tea?", "user/notes.md")`."""

from collections.abc import Sequence

from memex.api.moments import AsOf, to_json
from memex.api.protocol import MemexApi
from memex.call_context import CallContext
from memex.service.search.explanation import ExplainFindResult
from memex.settings import SearchMode


class Search:
    """Searches in the memory of one user, explained."""

    def __init__(self, api: MemexApi, context: CallContext) -> None:
        self._api = api
        self._context = context

    async def explain(
        self,
        query: str,
        path: str,
        *,
        limit: int = 10,
        project: str | None = None,
        prefix: str | None = None,
        tags: Sequence[str] = (),
        mode: SearchMode | None = None,
        as_of: AsOf | None = None,
        tool_call_id: str | None = None,
    ) -> ExplainFindResult:
        """Return why `find` with these arguments shows the file at `path`, or does not.

        The answer has the rank and the score of the file, the words of the query that it has and lacks, and the
        filters that leave it out.
        """
        arguments = {
            "query": query,
            "path": path,
            "limit": limit,
            "project": project,
            "prefix": prefix,
            "tags": list(tags),
            "mode": mode,
            "as_of": to_json(as_of),
        }
        found = await self._api.explain_find(self._context.under(tool_call_id), arguments)
        return ExplainFindResult.model_validate(found)
