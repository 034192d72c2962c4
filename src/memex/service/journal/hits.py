"""The hits of a search: a statement and the entry that it was made from are one, and what is gone is none."""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypedDict, Unpack

from memex.store.entry_path import is_entry_at
from memex.store.memory import Memory
from memex.store.records import EntryStatement, Hit, Reference, Span
from memex.store.search.analyzer import analyzer_of
from memex.store.search.find import MORE_SPANS, SearchResult
from memex.store.statement_lines import lines_of
from memex.subagent.remember.recalled import without_spans

MORE_ASKED = 30  # files beyond the limit, since the page of an entry may stand there
MAX_ASKED = 1_000  # files, where many entries are left out

_WORD = re.compile(r"\w")


class OneHit(NamedTuple):
    """A hit, and the paths of the entries that are no hits of their own since its page holds what they say."""

    hit: Hit
    entries: tuple[str, ...] = ()


class FindOptions(TypedDict, total=False):
    """Arguments of `Memory.find`."""

    project: str | None
    prefix: str | None
    tags: Sequence[str]
    least_similarity: float | None


async def find_once(
    memory: Memory, query: str, *, limit: int, **options: Unpack[FindOptions]
) -> tuple[SearchResult, list[OneHit]]:
    """Return what a search found, and its hits, at most `limit`, each statement once.

    An entry whose passages say nothing of the query but what was replaced or taken out, or whose words were all
    forgotten, is no hit.
    Where the passages of an entry say no more of the query than statements that were made from it, and one page
    that is a hit too shows all of these, the page is the hit of both, at the better rank of the two.
    """
    found = await memory.find(query, limit=limit, **options)
    if not any(is_entry_at(hit.path) for hit in found.hits):  # so none has to give way to its page
        return found, [OneHit(hit) for hit in found.hits]
    asked = limit + MORE_ASKED
    while True:
        found = await memory.find(query, limit=asked, **options)
        hits = await _once(memory, found)
        if len(hits) >= limit or len(found.hits) < asked or asked >= MAX_ASKED:
            return found, hits[:limit]
        asked = min(4 * asked, MAX_ASKED)


async def _once(memory: Memory, found: SearchResult) -> list[OneHit]:
    stated = defaultdict[str, list[EntryStatement]](list)
    for statement in await memory.entry_statements([hit.path for hit in found.hits if is_entry_at(hit.path)]):
        stated[statement.path].append(statement)
    said = tuple(hit for hit in found.hits if hit.text.strip() or not is_entry_at(hit.path))
    found = await _without_gone(memory, replace(found, hits=said), stated)
    shown_by = await _pages_of_entries(memory, found, stated)
    entries_of = defaultdict[str, list[str]](list)
    for entry, page in shown_by.items():
        entries_of[page].append(entry)
    by_path = {hit.path: hit for hit in found.hits}
    order = dict.fromkeys(shown_by.get(hit.path, hit.path) for hit in found.hits)
    return [OneHit(by_path[path], tuple(entries_of[path])) for path in order]


async def _without_gone(
    memory: Memory, found: SearchResult, stated: Mapping[str, Sequence[EntryStatement]]
) -> SearchResult:
    """Return what a search found without the entries that say nothing of the query but what holds no more."""
    gone = {
        path: [(statement.start_char, statement.end_char) for statement in mine if not statement.is_in_force]
        for path, mine in stated.items()
    }
    entries = [hit for hit in found.hits if gone.get(hit.path)]
    if not entries:
        return found
    passages = await _passages(memory, entries)
    lexemes = _that_count(found.query.lexemes, memory.language)
    silent = {
        entry.path
        for entry in entries
        if len(entry.more_spans) < MORE_SPANS
        and not _says_more(
            passages[entry.path],
            gone[entry.path],
            lexemes if entry.match.terms else None,
            memory.language,
        )
    }
    return replace(found, hits=tuple(hit for hit in found.hits if hit.path not in silent))


async def _pages_of_entries(
    memory: Memory, found: SearchResult, made: Mapping[str, Sequence[EntryStatement]]
) -> Mapping[str, str]:
    """Return the entries that say no more than a page among the hits, each with the first such page."""
    stated = {
        path: in_force
        for path, mine in made.items()
        if (in_force := [statement for statement in mine if statement.is_in_force])
    }
    pages = [hit for hit in found.hits if stated and not is_entry_at(hit.path)]
    shown = {path: _lines_of(passages) for path, passages in (await _passages(memory, pages)).items()}
    held = frozenset[bytes]().union(*shown.values())
    entries = [
        hit
        for hit in found.hits
        if len(hit.more_spans) < MORE_SPANS
        and any(statement.line_key in held for statement in stated.get(hit.path, ()))
    ]
    passages = await _passages(memory, entries)
    lexemes = _that_count(found.query.lexemes, memory.language)
    shown_by: dict[str, str] = {}
    for entry in entries:
        wanted = lexemes if entry.match.terms else None
        for page, lines in shown.items():
            covered = [
                (statement.start_char, statement.end_char)
                for statement in stated[entry.path]
                if statement.line_key in lines
            ]
            if covered and not _says_more(passages[entry.path], covered, wanted, memory.language):
                shown_by[entry.path] = page
                break
    return shown_by


def _lines_of(passages: Sequence[tuple[Span, str]]) -> frozenset[bytes]:
    return frozenset(key for _, text in passages for key in lines_of(text))


async def _passages(memory: Memory, hits: Sequence[Hit]) -> Mapping[str, list[tuple[Span, str]]]:
    """Return the passages of hits that match, by path: where each stands, and its text."""
    wanted = [Reference(hit.path, hit.version, span) for hit in hits for span in (hit.span, *hit.more_spans)]
    passages = defaultdict[str, list[tuple[Span, str]]](list)
    for reference, text in zip(wanted, await memory.spans(wanted), strict=True):
        passages[reference.path].append((reference.span, text))
    return passages


def _that_count(lexemes: Collection[str], language: str) -> frozenset[str]:
    """Return the lexemes of a query without those that only frame the question, if there are others."""
    return frozenset(lexemes) - analyzer_of(language).light_lexemes or frozenset(lexemes)


def _says_more(
    passages: Sequence[tuple[Span, str]],
    covered: Sequence[Span],
    lexemes: frozenset[str] | None,
    language: str,
) -> bool:
    """Return whether passages say more of a query than some spans of their file.

    Each passage comes with where it stands in the file. `lexemes` are None where the passages were found by their
    meaning alone, and any word says more.
    """
    analyzer = analyzer_of(language)
    for (first, last), text in passages:
        within = [(max(start, first) - first, min(end, last) - first) for start, end in covered]
        rest = without_spans(text, [span for span in within if span[0] < span[1]])
        if _WORD.search(rest) if lexemes is None else not lexemes.isdisjoint(analyzer.lexemes(rest)):
            return True
    return False
