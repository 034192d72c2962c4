"""Explanations of a search, from Python: `memory.search.explain("Which tea?", "user/notes.md")`."""

from collections.abc import Sequence

from memex.api.user_calls import AsOf, UserCalls, operation
from memex.service.search.explanation import ExplainFindResult
from memex.settings import SearchMode


class Search(UserCalls):
    """Searches in the memory of one user, explained."""

    @operation("memory_find_explain")
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
