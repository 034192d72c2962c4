"""Statements that are about what a question asks for, though they need not share a word with it.

`what tablets do I take` and `Amlodipine 5 mg every morning` are both about health. Of the files of statements
that changed last, each statement is compared with the question by its themes; see
`memex.subagent.statements.classifier`.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

from memex.store import offload
from memex.store.records import Reference
from memex.store.search.bm25 import Query
from memex.subagent.context.selection import CandidatePassage
from memex.subagent.context.statements import StatementUnit, bullets_in, split_passages
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.statements.bullets import parse_bullet
from memex.subagent.statements.classifier.themes import (
    ThemeVector,
    common_themes,
    question_themes,
    statement_themes,
)
from memex.subagent.statements.language import STATEMENT_KINDS
from memex.subagent.statements.places import destination, is_statement_file

MAX_FILES = 12  # files of statements that one question looks at, those that changed last
MAX_LISTED = 50  # files of one series among which these are chosen
MAX_STATEMENTS = 80  # that are about the same as the question, the nearest
LEAST_COMMON = 300  # of 1,000: what a statement must share with a question to be found by its themes


@dataclass(frozen=True, slots=True)
class _ThemedBullet:
    start: int
    end: int
    title: str
    themes: ThemeVector


async def themed_statements(question: str, query: Query, tools: MemoryTools) -> list[StatementUnit]:
    """Return the statements whose themes are nearest to those of a question."""
    asked = question_themes(question)
    if not asked:
        return []
    names = sorted(
        {destination(kind, None).path.removeprefix("user/").removesuffix(".md") for kind in STATEMENT_KINDS}
    )
    listed = await tools.list_series(names, limit=MAX_LISTED)
    wanted = [file for file in listed if is_statement_file(file.path) and file.size_chars][:MAX_FILES]
    references = [Reference(file.path, file.version, (0, file.size_chars)) for file in wanted]
    texts = await tools.read(references) if references else []
    near: list[tuple[int, CandidatePassage]] = []
    for reference, text in zip(references, texts, strict=True):
        for bullet in await offload.run(len(text), _themed_bullets, text):
            common = common_themes(asked, bullet.themes)
            if common >= LEAST_COMMON:
                span = (bullet.start, bullet.end)
                passage = CandidatePassage(
                    replace(reference, span=span),
                    text[slice(*span)],
                    0,
                    "match",
                    heading=(bullet.title,) if bullet.title else (),
                )
                near.append((common, passage))
    near.sort(key=lambda found: (-found[0], found[1].reference.path, found[1].reference.span))
    return split_passages((passage for _, passage in near[:MAX_STATEMENTS]), query, tools.analyzer)[0]


@lru_cache(maxsize=64)
def _themed_bullets(content: str) -> tuple[_ThemedBullet, ...]:
    """Return the statements of a file with their themes; files that did not change are read once."""
    return tuple(
        _ThemedBullet(start, end, title, statement_themes(parse_bullet(content[start:end])))
        for start, end, title, *_ in bullets_in(content)
    )
