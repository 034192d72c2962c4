"""Statements that are about what a question asks for, though they need not share a word with it.

`what tablets do I take` and `Amlodipine 5 mg every morning` are both about health. Of the files of statements
that changed last, each statement is compared with the question by its themes; see
`memex.subagent.statements.classifier`.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memex.store.memory import Memory
from memex.store.records import FileSummary, Reference
from memex.store.search.analyzer import Analyzer
from memex.store.search.bm25 import Query
from memex.store.search.index import text_digest
from memex.store.snapshot.reads import Reads
from memex.store.text_pool import offload
from memex.subagent.context.selection import CandidatePassage
from memex.subagent.context.statements import (
    MAX_KEPT_CHARS,
    DatedBullet,
    StatementUnit,
    embedded_text,
    split_passages,
    split_text,
)
from memex.subagent.memory_tools import MAX_PINNED, MemoryTools, newest_first
from memex.subagent.statements.bullets import parse_bullet
from memex.subagent.statements.classifier.themes import (
    WHOLE,
    ThemeVector,
    question_themes,
    statement_themes,
)
from memex.subagent.statements.language import STATEMENT_KINDS
from memex.subagent.statements.places import destination, is_statement_file
from memex.subagent.text_cache import TextCache

MAX_FILES = 12  # files of statements that one question looks at, those that changed last
MAX_LISTED = 50  # files of one series among which these are chosen
MAX_STATEMENTS = 80  # that are about the same as the question, the nearest
LEAST_COMMON = 300  # of 1,000: what a statement must share with a question to be found by its themes


@dataclass(frozen=True, slots=True)
class ThemedBullets:
    """The statements of a file by their themes.

    Attributes:
        bullets: the statements.
        by_theme: for each theme the places of the statements that mean it, each with what the theme counts there.
        digests: of the text by which each statement is embedded.
        newest_first: the places of the statements, those of the last day first, and of a day the last in the file.
    """

    bullets: tuple[DatedBullet, ...]
    by_theme: Mapping[int, Sequence[tuple[int, int]]]
    digests: tuple[bytes, ...]
    newest_first: tuple[int, ...]

    def nearest(self, asked: ThemeVector) -> list[tuple[int, int]]:
        """Return the places of the statements that are near to a question, each with what both have in common.

        What they have in common is `common_themes`, at least `LEAST_COMMON`.
        """
        sums: defaultdict[int, int] = defaultdict(int)
        for theme, count in asked:
            for place, counted in self.by_theme.get(theme, ()):
                sums[place] += count * counted
        found = ((place, min(WHOLE, total // WHOLE)) for place, total in sums.items())
        return [(place, common) for place, common in found if common >= LEAST_COMMON]


@dataclass(frozen=True, slots=True)
class FileStatements:
    """A file of statements, whole, with the statements in it."""

    reference: Reference
    text: str
    bullets: ThemedBullets

    def passage(self, place: int) -> CandidatePassage:
        """Return one of its statements as a passage."""
        bullet = self.bullets.bullets[place]
        return CandidatePassage(
            self.reference_of(place),
            self.text[slice(*bullet.span)],
            0,
            "match",
            heading=(bullet.title,) if bullet.title else (),
        )

    def reference_of(self, place: int) -> Reference:
        """Return where one of its statements stands."""
        return Reference(self.reference.path, self.reference.version, self.bullets.bullets[place].span)


def first_reads(question: str) -> Reads:
    """Return what is read of memory for any question, before it is searched."""
    return Reads(
        pinned=MAX_PINNED, series=[(_statement_series(), MAX_LISTED)] if question_themes(question) else ()
    )


async def themed_files(question: str, memory: Memory) -> list[Reference]:
    """Return the files that `themed_statements` will read, of a memory that has made the `first_reads`."""
    if not question_themes(question):
        return []
    return _whole_files(newest_first(await memory.list_series(_statement_series(), limit=MAX_LISTED)))


async def read_statement_files(tools: MemoryTools) -> list[FileStatements]:
    """Return the files of statements that one question looks at, those that changed last, with their statements."""
    references = _whole_files(await tools.list_series(_statement_series(), limit=MAX_LISTED))
    texts = await tools.read(references) if references else []
    found = []
    for reference, text in zip(references, texts, strict=True):
        bullets = _known_bullets.known(text)
        if bullets is None:
            bullets = _known_bullets.keep(text, await offload.run_on(text, _read_bullets, text))
        found.append(FileStatements(reference, text, bullets))
    return found


def themed_statements(
    question: str, query: Query, files: Iterable[FileStatements], analyzer: Analyzer
) -> list[StatementUnit]:
    """Return the statements whose themes are nearest to those of a question."""
    asked = question_themes(question)
    if not asked:
        return []
    near = [(common, file.passage(place)) for file in files for place, common in file.bullets.nearest(asked)]
    near.sort(key=lambda found: (-found[0], found[1].reference.path, found[1].reference.span))
    nearest = (passage for _, passage in near[:MAX_STATEMENTS])
    return split_passages(nearest, query, analyzer, weighs_statements=False)[0]


def _statement_series() -> list[str]:
    """Return the names of the series of all files of statements."""
    paths = (destination(kind, None).path for kind in STATEMENT_KINDS)
    return sorted({path.removeprefix("user/").removesuffix(".md") for path in paths})


def _whole_files(listed: Sequence[FileSummary]) -> list[Reference]:
    """Return those of listed files that one question looks at, whole."""
    wanted = [file for file in listed if is_statement_file(file.path) and file.size_chars][:MAX_FILES]
    return [Reference(file.path, file.version, (0, file.size_chars)) for file in wanted]


def _read_bullets(content: str) -> ThemedBullets:
    """Return the statements of a file by their themes."""
    bullets = split_text(content).bullets
    by_theme: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for place, bullet in enumerate(bullets):
        for theme, count in statement_themes(parse_bullet(content[slice(*bullet.span)])):
            by_theme[theme].append((place, count))
    digests = (text_digest(embedded_text(one.title, content[slice(*one.span)])) for one in bullets)
    newest_first = sorted(range(len(bullets)), key=lambda place: (bullets[place].day, place), reverse=True)
    return ThemedBullets(bullets, dict(by_theme), tuple(digests), tuple(newest_first))


_known_bullets = TextCache(_read_bullets, max_chars=MAX_KEPT_CHARS)  # files that did not change are read once
