"""Questions that ask for a list, such as what is still to be done, answered from the kinds of statements."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml

from memex.store.records import Reference
from memex.store.search.analyzer import Analyzer
from memex.store.search.bm25 import Query
from memex.subagent.context.selection import CandidatePassage
from memex.subagent.context.statements import StatementUnit, split_passages
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.statements.bullets import parse_bullet
from memex.subagent.statements.language import StatementKind
from memex.subagent.statements.places import destination, is_statement_file
from memex.subagent.statements.relations import view
from memex.subagent.statements.subjects import APOSTROPHES

MAX_FILES = 8  # files that one question reads
MAX_LISTED = 400


@dataclass(frozen=True, slots=True)
class Intent:
    """What a question asks for as a list.

    Attributes:
        name: the name of the intent.
        kinds: the kinds of statements that answer.
        is_open: statements of any kind answer that say that something is not settled.
        match: finds the intent in a question.
    """

    name: str
    kinds: frozenset[StatementKind]
    is_open: bool
    match: re.Pattern[str]


def intent_of(question: str) -> Intent | None:
    """Return the list that a question asks for; None if it asks for no list."""
    plain = " ".join(question.translate(APOSTROPHES).split())
    return next((intent for intent in _load() if intent.match.search(plain)), None)


async def listed_statements(intent: Intent, query: Query, tools: MemoryTools) -> list[StatementUnit]:
    """Return the statements that stand under the headings of an intent's kinds, the newest first.

    Args:
        intent: what is asked for.
        query: weighs the words of a statement.
        tools: reads memory.
    """
    passages = []
    for path in await _paths(intent, tools):
        revision = await tools.read_file(path)
        reference = Reference(path, revision.version, (0, len(revision.content)))
        passages.append(CandidatePassage(reference, revision.content, 0, "match"))
    units, _ = split_passages(passages, query, tools.analyzer)
    found = [unit for unit in units if _answers(unit, intent, tools.analyzer)]
    return sorted(found, key=lambda unit: unit.order, reverse=True)


async def _paths(intent: Intent, tools: MemoryTools) -> list[str]:
    kinds: Sequence[StatementKind] = (*intent.kinds, "note") if intent.is_open else tuple(intent.kinds)
    names = {destination(kind, None).path.removeprefix("user/").removesuffix(".md") for kind in kinds}
    listed = [*await tools.list_files("user/", limit=MAX_LISTED)]
    listed += await tools.list_files("projects/", limit=MAX_LISTED)
    return [
        file.path
        for file in listed
        if is_statement_file(file.path)
        and re.sub(r"(?:-\d+)?\.md$", "", file.path.rsplit("/", 1)[1]) in names
    ][:MAX_FILES]


def _answers(unit: StatementUnit, intent: Intent, analyzer: Analyzer) -> bool:
    kind = unit.kind
    if kind in intent.kinds:
        return True
    return intent.is_open and view(parse_bullet(unit.candidate.text), kind, analyzer).is_open


@cache
def _load() -> tuple[Intent, ...]:
    data = yaml.safe_load((files("memex.subagent.context") / "intents.yaml").read_text(encoding="utf-8"))
    return tuple(
        Intent(
            row["name"],
            frozenset(row["kinds"]),
            row.get("is_open", False),
            re.compile("|".join(row["match"]), re.IGNORECASE),
        )
        for row in data["intents"]
    )
