"""The planner by rules: no model, no network, the same answer every time."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, count

from memex.store import offload
from memex.store.analyzer import Analyzer
from memex.store.snippet import window
from memex.subagent.assembly import WRAPPER_CHARS
from memex.subagent.evidence import WHOLE_CHARS, Worth, gather, pinned
from memex.subagent.filing import destination
from memex.subagent.language import KINDS
from memex.subagent.planner import Add, ContextPlan, ContextRequest, RememberPlan, RememberRequest
from memex.subagent.related import related
from memex.subagent.selection import rank, select
from memex.subagent.statements import Statement, read
from memex.subagent.tools import MemoryTools

READ_SHARE = 3  # so many times the budget's characters of passages are read, of which the best are chosen
LOOKED_UP = (
    100  # statements of one text for which memory is searched; for each, its own file is always looked at
)
FULL_CHARS = 300_000  # a file of statements that has so many is not added to


class BuiltinPlanner:
    """Chooses by rules: BM25, links that lead on from what matches, and the value of a passage for its length."""

    name = "builtin"

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer

    async def plan_context(self, request: ContextRequest, tools: MemoryTools) -> ContextPlan:
        """Return the passages that answer a query, within its budget."""
        evidence = await gather(request.query, request.max_hops, tools)
        pinned_paths = await tools.pinned()
        pinned_files = await tools.passages(evidence.query, pinned_paths) if pinned_paths else []
        available = request.budget - WRAPPER_CHARS
        first = [worth for file in pinned_files for worth in pinned(file, available // 2)]
        worths = _best(evidence.worths(min(WHOLE_CHARS, available // 3)), available * READ_SHARE)
        texts = iter(await tools.read([worth.reference for worth in (*first, *worths)]))
        wanted = frozenset(evidence.query.lexemes)
        return select(
            [worth.candidate(next(texts)) for worth in first],
            [worth.candidate(next(texts)) for worth in worths],
            available=available,
            cut=lambda text, width: window(text, wanted, self._analyzer, width),
        )

    async def plan_remember(self, request: RememberRequest, tools: MemoryTools) -> RememberPlan:
        """Return where the statements of a text belong, which memory holds already, and what none is."""
        reading = await offload.run(len(request.text), read, request.text)
        adds = [_add(statement, request.project) for statement in reading.statements]
        moved = await self._roomy(adds, tools)
        adds = [replace(add, path=moved[add.path]) for add in adds]
        own_paths = frozenset(destination(kind, request.project).path for kind in KINDS) | moved.keys()
        known, kept = [], []
        for place, add in enumerate(adds):
            if place >= LOOKED_UP:
                kept.append(add)
                continue
            about = await related(add, own_paths, tools, self._analyzer)
            if about.known:
                known.append(about.known)
            else:
                kept.append(replace(add, links=about.links))
        return RememberPlan(tuple(kept), tuple(known), reading.skipped)

    async def _roomy(self, adds: Sequence[Add], tools: MemoryTools) -> dict[str, str]:
        """Return for each file that statements go to the first of its successors with room: notes, notes-2, …."""
        moved = {}
        for path in dict.fromkeys(add.path for add in adds):
            stem = path.removesuffix(".md")
            sizes = {file.path: file.size_chars for file in await tools.list_files(stem, limit=1_000)}
            names = chain([path], (f"{stem}-{number}.md" for number in count(2)))
            moved[path] = next(name for name in names if sizes.get(name, 0) < FULL_CHARS)
        return moved


def _add(statement: Statement, project: str | None) -> Add:
    place = destination(statement.kind, project)
    return Add(place.path, place.title, place.heading, statement)


def _best(worths: Iterable[Worth], chars: int) -> list[Worth]:
    """Return the passages that are worth most, at most so many characters of them, and at least one."""
    kept: list[Worth] = []
    for worth in sorted(worths, key=lambda worth: rank(worth.value, worth.reference)):
        if kept and chars < worth.chars:
            break
        chars -= worth.chars
        kept.append(worth)
    return kept
