"""Stored text related to a statement: where the statement stands already, and the files that it names."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from itertools import islice

from memex.store.markdown import file_name
from memex.store.records import Hit, Reference
from memex.store.search.analyzer import Analyzer
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import Addition, FiledStatement, KnownStatement
from memex.subagent.remember.file_series import first_file
from memex.subagent.remember.mounts import link_target, may_link
from memex.subagent.remember.told_sentences import standing_sentences
from memex.subagent.statements.bullets import ITEM, parse_bullet, stamped_day, still_true_day
from memex.subagent.statements.comparison.relations import statement_weights
from memex.subagent.statements.extraction import Statement
from memex.subagent.statements.places import is_statement_file, kind_of_item, mount_of, stands_for_kind
from memex.subagent.statements.subjects import normal_form, subject_of

HITS = 8
ENTRIES = 8  # of the journal
PASSAGES = 4
MAX_STORED = 200  # stored statements that a new one is compared with
MAX_LINKS = 3
MAX_QUERY_CHARS = 1_000
MIN_NAME_CHARS = 3

_TASKS = frozenset({"pending", "done", "blocker"})
_BOX = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+\[[ xX]\]")


@dataclass(frozen=True, slots=True)
class RelatedFiles:
    """The stored files and statements that a statement is related to.

    Attributes:
        home: the file of its series that says it, or says something else of the same thing; None when none does.
        known: another file that says it.
        links: targets for the files that it names.
        stored: the stored statements that share words with it, and the sentences that the journal alone has.
        weights: the idf of its words among stored statements.
    """

    home: str | None
    known: KnownStatement | None
    links: tuple[str, ...]
    stored: tuple[FiledStatement, ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SaidTime:
    """The time when a text was said: the day, and the moment in its zone; None if only the day is known."""

    day: date
    moment: datetime | None = None


async def find_related(
    add: Addition, own_paths: frozenset[str], tools: MemoryTools, said: SaidTime | None = None
) -> RelatedFiles:
    """Return what memory holds about a statement.

    Args:
        add: the statement and where it shall go. A duplicate there is found when it is written.
        own_paths: the files that statements are put into: they are no subject of one, nor are their successors.
        tools: to search with.
        said: when it was said; None if sentences of the journal are not looked for.
    """
    query = add.statement.text[:MAX_QUERY_CHARS]
    beside = ENTRIES if said else 0
    found = await tools.find(query, limit=HITS, passages=PASSAGES, entries=False, beside=beside)
    told: tuple[FiledStatement, ...] = ()
    if said and found.entries:
        told = tuple(await standing_sentences(found.entries, said.day, said.moment, tools))
    mount = mount_of(add.path)
    own = [hit for hit in found.hits if first_file(hit.path) == first_file(add.path)]
    others = [hit for hit in found.hits if first_file(hit.path) not in own_paths]
    home = next((hit.path for hit in own if _is_about(hit, add.statement)), None)
    same = next(
        (hit for hit in others if mount_of(hit.path) == mount and _states_outright(hit, add.statement)), None
    )
    known = None
    if same is not None and same.file is not None:
        span = same.file.passages[0].span
        known = KnownStatement(add.statement, Reference(same.path, same.version, span))
    # `Notes` is no name: a file of statements of another project is the subject of none.
    named = [hit for hit in others if may_link(mount, hit.path) and not is_statement_file(hit.path)]
    lexemes = tools.analyzer.lexemes(add.statement.text)
    targets = [link_target(mount, hit.path) for hit in named if _is_named(hit, lexemes, tools.analyzer)]
    return RelatedFiles(
        home,
        known,
        tuple(dict.fromkeys(filter(None, targets)))[:MAX_LINKS],
        (*islice(stored_statements(found.hits), MAX_STORED), *told[:MAX_STORED]),
        statement_weights(found.query),
    )


def stored_statements(hits: Iterable[Hit]) -> Iterator[FiledStatement]:
    """Yield the dated bullets in the passages of hits, in files that `memory_remember` writes."""
    for hit in hits:
        if not is_statement_file(hit.path):
            continue
        for heading, start, line in _lines(hit):
            day, item = stamped_day(line), ITEM.match(line)
            if day is None or item is None:
                continue
            kind = kind_of_item(heading[-1] if heading else "", hit.path, item[3])
            text = parse_bullet(line)
            at = line.find(text)
            place = (
                Reference(hit.path, hit.version, (start + at, start + at + len(text))) if at >= 0 else None
            )
            yield FiledStatement(hit.path, text, kind, day, place, still_true_day(line))


def _is_about(hit: Hit, statement: Statement) -> bool:
    """Tell whether a bullet of a hit's passages says the same, or something of the same thing."""
    form, topic = normal_form(statement.text), subject_of(statement.kind, statement.text)
    texts = [parse_bullet(line) for _, _, line in _lines(hit)]
    return any(
        normal_form(text) == form or (topic and subject_of(statement.kind, text) == topic) for text in texts
    )


def _states_outright(hit: Hit, statement: Statement) -> bool:
    """Tell whether a file says the same outright: no task, no box to tick, nothing under a heading of a section.

    `## Rejected` or `## Said by Tom` makes another statement of what stands below it. The heading of a kind does
    not: a page that `memory_remember` wrote keeps it where it is moved to.
    """
    if statement.kind in _TASKS:
        return False
    form = normal_form(statement.text)
    return any(
        (len(heading) <= 1 or (len(heading) == 2 and stands_for_kind(heading[1])))
        and not _BOX.match(line)
        and normal_form(parse_bullet(line)) == form
        for heading, _, line in _lines(hit)
    )


def _lines(hit: Hit) -> Iterator[tuple[tuple[str, ...], int, str]]:
    """Yield the lines of a hit's passages, each with the headings above it and where in the file it begins."""
    for passage in hit.file.passages if hit.file else ():
        start = passage.span[0]
        for line in (passage.text or "").splitlines(keepends=True):
            yield passage.heading, start, line.rstrip("\r\n")
            start += len(line)


def _is_named(hit: Hit, lexemes: Sequence[str], analyzer: Analyzer) -> bool:
    """Tell whether a statement holds a file's title or name, word for word."""
    for name in (hit.title, file_name(hit.path)):
        words = analyzer.lexemes(name)
        if len(name) < MIN_NAME_CHARS or not words:
            continue
        if any(lexemes[at : at + len(words)] == words for at in range(len(lexemes) - len(words) + 1)):
            return True
    return False
