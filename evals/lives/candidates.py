"""Statements that search finds for those of a text, so that an evaluation can tell finding from deciding."""

from collections.abc import Collection
from typing import Any, cast

from memex.service.planners import Planners
from memex.store.search.analyzer import Analyzer
from memex.store.search.find import SearchResult
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import ContextPlan, ContextRequest, RememberPlan, RememberRequest
from memex.subagent.remember.related import stored_statements
from memex.subagent.statements.forgetting import known_sentences


class CandidateWatch:
    """The stored statements that search found while texts were remembered.

    Args:
        texts: the texts that are watched.
    """

    def __init__(self, texts: Collection[str]) -> None:
        self._texts = frozenset(texts)
        self._found: dict[str, dict[str, None]] = {}

    def planners(self) -> Planners:
        """Return the built-in planner for both tools; of memory_remember it is watched."""
        builtin = BuiltinPlanner(Analyzer())
        return Planners(builtin, _WatchedPlanner(builtin, self))

    def found(self, text: str) -> tuple[str, ...] | None:
        """Return the stored statements that were found for a text; None if it was not watched."""
        found = self._found.get(text)
        return None if found is None else tuple(found)

    def watched(self, text: str, tools: MemoryTools) -> MemoryTools:
        """Return the tools for a text, watched if the text is."""
        if text not in self._texts:
            return tools
        self._found[text] = {}
        return cast("MemoryTools", _WatchedTools(tools, self._found[text]))


class _WatchedTools:
    """The tools of a planner, with what their searches find."""

    def __init__(self, tools: MemoryTools, found: dict[str, None]) -> None:
        self._tools = tools
        self._found = found

    async def find(self, query: str, **options: Any) -> SearchResult:
        """Return what search finds, and keep the statements in it."""
        result = await self._tools.find(query, **options)
        self._found.update(dict.fromkeys(statement.text for statement in stored_statements(result.hits)))
        for hit in result.entries:
            for passage in hit.file.passages if hit.file is not None else ():
                said = passage.text or ""
                self._found.update(dict.fromkeys(said[slice(*span)] for span in known_sentences(said)))
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tools, name)


class _WatchedPlanner:
    """The built-in planner, whose searches are watched."""

    is_slow = False

    def __init__(self, builtin: BuiltinPlanner, watch: CandidateWatch) -> None:
        self._builtin = builtin
        self._watch = watch

    @property
    def name(self) -> str:
        """The name of the built-in planner."""
        return self._builtin.name

    @property
    def config(self) -> dict[str, Any]:
        """The settings of the built-in planner."""
        return self._builtin.config

    async def plan_context(self, request: ContextRequest, tools: MemoryTools) -> ContextPlan:
        """Return the plan of the built-in planner."""
        return await self._builtin.plan_context(request, tools)

    async def plan_remember(self, request: RememberRequest, tools: MemoryTools) -> RememberPlan:
        """Return the plan of the built-in planner, and keep what its searches find."""
        return await self._builtin.plan_remember(request, self._watch.watched(request.text, tools))
