"""The lines of pages that were made from the text of an earlier call, each with its words in the text."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from memex.errors import Refused
from memex.store.access import Access
from memex.store.journal.earlier_calls import EarlierCall, PageLines, Writes
from memex.store.paths import parse
from memex.store.records import FileChange, Span
from memex.store.statement_lines import line_key, lines_of
from memex.store.text_pool import offload
from memex.store.writes.statements import FiledLine
from memex.subagent.statements.extraction import Statement
from memex.subagent.statements.storable import extract_storable

LEAST_SHARED = 0.5  # of the words of a line that a model worded anew stand in its sentence

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class PageWords:
    """The lines that a page may hold from a text: by the key of each, its words in the text.

    `made` are those that the call itself brought; where no page holds such a line, a newer one has replaced it.
    """

    path: str
    words: Mapping[bytes, Span]
    made: Mapping[bytes, str]


async def words_of_pages(
    access: Access, call: EarlierCall, text: str, day: date, writes: Writes, lines: PageLines
) -> list[PageWords]:
    """Return which lines of pages may have been made from a text; of pages that the caller writes alone.

    `text` is what is kept of what was told on `day`, `writes` are the versions that calls wrote, and `lines` say
    what became of the lines of their pages.
    """
    statements = (await offload.run_on(text, extract_storable, text, day)).statements
    stated = {line_key(statement.text): (statement.start, statement.end) for statement in statements}
    pages: dict[str, dict[bytes, str]] = {path: {} for path in _known_in(call)}
    for reference in call.writes:
        written = writes.get(reference)
        if written is not None and written.path is not None:
            pages.setdefault(written.path, {}).update(lines.came.get(written.version, {}))
    found = []
    for path, made in pages.items():
        scope = access.by_mount.get(parse(path).mount_name)
        if scope is not None and scope.writable:
            reworded = {key: line for key, line in made.items() if key not in stated}
            found.append(PageWords(path, stated | _reworded(reworded, statements), made))
    return found


def filed_lines(
    pages: Iterable[PageWords], changes: Sequence[FileChange], lines: PageLines
) -> list[FiledLine]:
    """Return the lines that pages hold, and those that newer ones have replaced.

    `pages` are the lines that may have been made from a text, `changes` the pages as they stand, and `lines` say
    what became of the lines of all pages.
    """
    stand = {change.path: lines_of(change.new_content) for change in changes}
    filed = []
    for page in pages:
        for key, span in page.words.items():
            if (line := stand.get(page.path, {}).get(key)) is not None:
                filed.append(FiledLine(page.path, line, span))
            elif key in page.made and key not in lines.standing:
                filed.append(FiledLine(page.path, page.made[key], span, "replaced"))
    return filed


def _known_in(call: EarlierCall) -> list[str]:
    """Return the pages in which a call found statements of its text."""
    references = [part["known_in"] for part in call.skipped if part.get("known_in")]
    return list(dict.fromkeys(filter(_is_path, (reference.rpartition("@")[0] for reference in references))))


def _is_path(path: str) -> bool:
    try:
        parse(path)
    except Refused:
        return False
    return True


def _reworded(lines: Mapping[bytes, str], statements: Sequence[Statement]) -> dict[bytes, Span]:
    """Return the statements that share most words with lines that a model worded, at least half of each line's."""
    found = {}
    for key, line in lines.items():
        words = _words(line)
        shared = [len(words & _words(statement.text)) for statement in statements]
        best = max(range(len(shared)), key=shared.__getitem__, default=None)
        if best is not None and shared[best] >= LEAST_SHARED * len(words):
            found[key] = (statements[best].start, statements[best].end)
    return found


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))
