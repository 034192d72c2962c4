"""The stored statements nearest to a text, found by code, and numbered for a model.

    N1 · user/profile.md@3 · About me · I live in Berlin. (2026-03-01)

A statement is a line, and whatever line breaks it has are shown as spaces: none can begin another number.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import fsum

from memex.store import markdown
from memex.store.records import FilePassages, Reference
from memex.store.search.analyzer import Analyzer
from memex.store.text_pool import offload
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import FiledStatement
from memex.subagent.remember.filing.items import list_items, prose_sentences
from memex.subagent.remember.mounts import is_writable
from memex.subagent.statements.bullets import UNDATED
from memex.subagent.statements.extraction import extract_statements
from memex.subagent.statements.places import destination
from memex.subagent.statements.subjects import normal_form, subject_of

QUERY_CHARS = 1_000
HITS = 8
PASSAGES = 2
MAX_SHOWN = 40
SHOWN_CHARS = 300  # of one statement

_NAME = re.compile(r"\[?[Nn]?(\d{1,4})\]?")


@dataclass(slots=True)
class NumberedStatements:
    """The stored statements that a model has been shown, by their numbers; `shown` is for the log."""

    statements: list[FiledStatement] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)

    def show(self, statements: Iterable[FiledStatement], max_chars: int) -> str:
        """Return a line a statement, numbered on, as many as fit; none of those that were shown before."""
        known = {(statement.path, statement.text) for statement in self.statements}
        lines: list[str] = []
        for statement in statements:
            line = self._line(statement)
            max_chars -= len(line) + 1
            if max_chars < 0 or len(lines) == MAX_SHOWN:
                break
            if (statement.path, statement.text) not in known:
                self.statements.append(statement)
                known.add((statement.path, statement.text))
                if statement.reference is not None:
                    self.shown.append(str(statement.reference))
                lines.append(line)
        return "\n".join(lines)

    def by_number(self, name: str) -> FiledStatement | None:
        """Return the statement of a number, such as N3."""
        number = _NAME.fullmatch(name.strip())
        place = int(number[1]) - 1 if number else -1
        return self.statements[place] if 0 <= place < len(self.statements) else None

    @property
    def numbers(self) -> str:
        """The numbers that there are, in words."""
        last = len(self.statements)
        return "no statement was shown" if not last else "N1" if last == 1 else f"N1 to N{last}"

    def _line(self, one: FiledStatement) -> str:
        text = " ".join(one.text.split())
        text = text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]} […]"
        place = f"{one.path}@{one.reference.version}" if one.reference else f"{one.path}, new in this call"
        about = [f"N{len(self.statements) + 1}", place, " ".join(one.heading.split())]
        return " · ".join(filter(None, [*about, text if one.day == UNDATED else f"{text} ({one.day})"]))


@dataclass(slots=True)
class NearestStatements:
    """The search for stored statements near to parts of a text: in the user's files, and in a project's.

    Attributes:
        project: the project whose files count besides those of the user.
        paths: the paths of all files.
        tools: to search with.
        analyzer: makes the lexemes by which texts are compared.
        queries: the queries with which memory is searched for one part.
    """

    project: str | None
    paths: Collection[str]
    tools: MemoryTools
    analyzer: Analyzer
    queries: int
    _files: dict[str, list[FiledStatement]] = field(default_factory=dict)  # those that were read whole

    async def nearest_to(self, text: str) -> list[FiledStatement]:
        """Return the statements that are nearest to a text, the best first.

        What says something of the same thing by its key comes first, then what shares rare words with the text.
        """
        reading = await offload.run(len(text), extract_statements, text)
        usual = {
            destination(statement.kind, self.project, statement.text).path for statement in reading.statements
        }
        read_whole = [stored for path in sorted(usual & set(self.paths)) for stored in await self._read(path)]
        found = {(stored.path, stored.text): stored for stored in read_whole}
        texts = [statement.text for statement in reading.statements] or text.split("\n\n")
        for query in _queries(texts, self.queries):
            for stored in await self.search(query):
                found.setdefault((stored.path, stored.text), stored)
        subjects = {
            subject
            for statement in reading.statements
            if (subject := subject_of(statement.kind, statement.text))
        }
        return await offload.run_in_thread(
            len(text), _rank_statements, list(found.values()), subjects, text, self.analyzer
        )

    async def search(self, query: str) -> list[FiledStatement]:
        """Return the statements of the passages that a search finds in the files that may be written."""
        hits = (await self.tools.find(query, limit=HITS, passages=PASSAGES, entries=False)).hits
        files = [hit.file for hit in hits if hit.file is not None and is_writable(hit.path, self.project)]
        return [statement for file in files for statement in _statements_in_passages(file)]

    async def _read(self, path: str) -> list[FiledStatement]:
        """Return the statements of a file, which is read once."""
        if path not in self._files:
            file = await self.tools.read_file(path)
            self._files[path] = await offload.run_in_thread(
                len(file.content), stored_statements, path, file.version, file.content
            )
        return self._files[path]


def stored_statements(
    path: str, version: int, text: str, start: int = 0, above: str = ""
) -> list[FiledStatement]:
    """Return the bullets and the sentences of prose in a text that stands in a file.

    Args:
        path: the path of the file.
        version: the version of the file.
        text: all of it, or a part.
        start: the place in the file where the part begins.
        above: the heading that the part stands under.
    """
    document = markdown.parse(text)
    found = []
    for item in list_items(text, document, path, above):
        reference = Reference(path, version, (start + item.start, start + item.own_end))
        day = item.day or UNDATED
        found.append(FiledStatement(path, item.text, item.kind, day, reference, heading=item.heading))
    for first, last in prose_sentences(text, document):
        titles = [heading.title for heading in document.headings if heading.end <= first]
        heading = titles[-1] if titles else above
        reference = Reference(path, version, (start + first, start + last))
        found.append(FiledStatement(path, text[first:last], "note", UNDATED, reference, heading=heading))
    return found


def _statements_in_passages(file: FilePassages) -> Iterator[FiledStatement]:
    for passage in file.passages:
        if passage.text:
            above = passage.heading[-1] if passage.heading else ""
            yield from stored_statements(file.path, file.version, passage.text, passage.span[0], above)


def _queries(texts: Sequence[str], max_queries: int) -> list[str]:
    """Return texts as queries: a text each, or several together where there are too many."""
    texts = [text.strip() for text in texts if text.strip()]
    size = -(-len(texts) // max_queries) or 1
    parts = (texts[at : at + size] for at in range(0, len(texts), size))
    return ["\n".join(text[: QUERY_CHARS // size] for text in part) for part in parts]


def _rank_statements(
    found: Sequence[FiledStatement], subjects: Collection[str], text: str, analyzer: Analyzer
) -> list[FiledStatement]:
    wanted = frozenset(analyzer.lexemes(text))
    shared = [wanted.intersection(analyzer.lexemes(statement.text)) for statement in found]
    counts = Counter(lexeme for lexemes in shared for lexeme in lexemes)
    ranked = []
    for statement, lexemes in zip(found, shared, strict=True):
        is_same = bool(subjects) and subject_of(statement.kind, statement.text) in subjects
        score = fsum(1 / counts[lexeme] for lexeme in lexemes)  # the same in whatever order
        if (is_same or score) and normal_form(statement.text):
            ranked.append(
                (
                    not is_same,
                    -score,
                    statement.path,
                    statement.reference.span if statement.reference else (0, 0),
                    statement,
                )
            )
    return [statement for *_, statement in sorted(ranked, key=lambda entry: entry[:4])]
