"""The statements of pages and the sentences of the journal among the lines of a context. Pure."""

from collections.abc import Iterable, Iterator

from memex.store.entry_path import is_entry_at
from memex.store.records import Reference
from memex.store.search.analyzer import Analyzer
from memex.store.search.bm25 import Query
from memex.subagent.context.pool import ContextLine
from memex.subagent.planner import FiledStatement
from memex.subagent.statements.bullets import parse_bullet
from memex.subagent.statements.forgetting import all_sentences
from memex.subagent.statements.subjects import normal_form


def stated_by_lines(lines: Iterable[ContextLine], query: Query, analyzer: Analyzer) -> list[FiledStatement]:
    """Return what lines state that shares a word with a query, in their order, each once.

    A statement of a page stands for the sentence of the journal that says the same.
    """
    wanted = frozenset(query.lexemes)
    found: dict[tuple[str, ...], FiledStatement] = {}
    for line in lines:
        for stated in _stated(line) if line.share else ():
            if not wanted.isdisjoint(analyzer.lexemes(stated.text)):
                known = found.setdefault(form := normal_form(stated.text), stated)
                found[form] = known if is_entry_at(stated.path) else stated
    return list(found.values())


def _stated(line: ContextLine) -> Iterator[FiledStatement]:
    """Yield the statement of a page that a line is, or the sentences of one that was told."""
    text, (path, version, (first, _)) = line.candidate.text, line.reference
    if line.unit is not None and line.is_of_page:
        said = parse_bullet(text)
        at = text.find(said)
        place = Reference(path, version, (first + at, first + at + len(said))) if at >= 0 else None
        yield FiledStatement(path, said, line.unit.kind, line.unit.day, place, line.unit.still_true)
    elif line.day is not None and line.included is None:
        for start, end in all_sentences(text):
            place = Reference(path, version, (first + start, first + end))
            yield FiledStatement(path, text[start:end], "note", line.day, place)
