"""What search finds for the statements of a text, so that an evaluation can tell finding from deciding."""

from collections.abc import Collection
from typing import Any

from memex.service.planners import Planners
from memex.store.search.analyzer import Analyzer
from memex.subagent.builtin import MAX_LOOKUPS, BuiltinPlanner
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import Addition, ContextPlan, ContextRequest, RememberPlan, RememberRequest
from memex.subagent.remember.related import find_related
from memex.subagent.statements.extraction import extract_statements
from memex.subagent.statements.language import STATEMENT_KINDS
from memex.subagent.statements.places import destination


class CandidateWatch:
    """The stored statements that search found for texts: those with which the new statements were compared.

    Args:
        texts: the texts that are watched. For any other text nothing is searched a second time.
    """

    def __init__(self, texts: Collection[str]) -> None:
        self._texts = frozenset(texts)
        self._found: dict[str, tuple[str, ...]] = {}

    def planners(self) -> Planners:
        """Return the built-in planner for both tools; of memory_remember it is watched."""
        builtin = BuiltinPlanner(Analyzer())
        return Planners(builtin, _WatchedPlanner(builtin, self))

    def found(self, text: str) -> tuple[str, ...] | None:
        """Return the stored statements that were found for a text; None if it was not watched."""
        return self._found.get(text)

    async def look(self, request: RememberRequest, tools: MemoryTools) -> None:
        """Search for the statements of a text as the built-in planner does, if the text is watched."""
        if request.text not in self._texts:
            return
        projects = (request.project, None)
        own_paths = frozenset(destination(kind, one).path for kind in STATEMENT_KINDS for one in projects)
        found: dict[str, None] = {}
        for statement in extract_statements(request.text).statements[:MAX_LOOKUPS]:
            place = destination(statement.kind, request.project, statement.text)
            add = Addition(place.path, place.title, place.heading, statement)
            about = await find_related(add, own_paths, tools)
            found |= dict.fromkeys(one.text for one in about.stored)
        self._found[request.text] = tuple(found)
        tools.reset_operations()


class _WatchedPlanner:
    """The built-in planner, which a watch looks over."""

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
        """Return the plan of the built-in planner, after the watch has searched."""
        await self._watch.look(request, tools)
        return await self._builtin.plan_remember(request, tools)
