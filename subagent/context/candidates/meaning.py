"""Statements that say in other words what a question asks for.

`Which foods should I stay away from` and `Lactose intolerant` share neither a word nor, always, a theme. Where
search compares meaning, the statements that it found and those of the files that changed last are compared with the
question piece by piece, each by itself.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memex.store.records import Reference
from memex.store.search.bm25 import Query
from memex.store.search.hybrid.statement_states import SIMILARITY_SCALE
from memex.store.search.index import text_digest
from memex.subagent.context.candidates.themed import FileStatements
from memex.subagent.context.statements import StatementUnit, embedded_text, split_passages
from memex.subagent.memory_tools import MemoryTools

SINCE_VERSION = 8  # of the planner
# Statements: those that were found, and then those of the files that changed last, of each file the newest first.
MAX_COMPARED = 400
MAX_ADDED = 40  # statements, the most similar, beside those that were found otherwise


@dataclass(frozen=True, slots=True)
class ComparedStatements:
    """Statements that were compared with a question.

    Attributes:
        units: those that were found otherwise, and the most similar of the others.
        similar: the MaxSim of each that was embedded, from -1 to 1.
    """

    units: Sequence[StatementUnit]
    similar: Mapping[Reference, float]


async def compare_statements(
    question: str,
    query: Query,
    units: Sequence[StatementUnit],
    files: Iterable[FileStatements],
    tools: MemoryTools,
) -> ComparedStatements:
    """Return statements with those that are near to a question in meaning.

    Args:
        question: the question, which `tools` has found before.
        query: the question as search weighed it.
        units: the statements that were found by words and themes.
        files: the files of statements that changed last, whole.
        tools: reads memory.
    """
    digests: dict[Reference, bytes] = {}
    places: dict[Reference, tuple[FileStatements, int]] = {}
    files = list(files)
    by_path = {(file.reference.path, file.reference.version): file for file in files}
    for unit in units[:MAX_COMPARED]:
        reference = unit.reference
        digests[reference] = _digest_of(unit, by_path.get((reference.path, reference.version)))
    for file in files:
        for place in file.bullets.newest_first:
            if len(digests) == MAX_COMPARED:
                break
            reference = file.reference_of(place)
            places[reference] = file, place
            digests.setdefault(reference, file.bullets.digests[place])
    if not digests:
        return ComparedStatements(units, {})
    found = await tools.similarities(question, list(digests.values()))
    similar = {
        reference: value / SIMILARITY_SCALE
        for reference, value in zip(digests, found, strict=True)
        if value is not None
    }
    known = {unit.reference for unit in units}
    others = [reference for reference in places if reference in similar and reference not in known]
    others.sort(key=lambda one: (-similar[one], one.path, one.span))
    passages = (file.passage(place) for file, place in (places[one] for one in others[:MAX_ADDED]))
    added = split_passages(passages, query, tools.analyzer, weighs_statements=False)[0]
    return ComparedStatements([*units, *added], similar)


def _digest_of(unit: StatementUnit, file: FileStatements | None) -> bytes:
    """Return the digest of a statement as it was embedded: with the heading in its file, where that is known.

    The heading of a passage lacks markup and is cut short, so it serves only where the heading is plain.
    """
    span = unit.reference.span
    if file is not None:
        bullets = file.bullets.bullets
        place = bisect_left(bullets, span, key=lambda bullet: bullet.span)
        if place < len(bullets) and bullets[place].span == span:
            return file.bullets.digests[place]
    heading = unit.candidate.heading
    return text_digest(embedded_text(heading[-1] if heading else "", unit.candidate.text))
