"""The sets: 20 texts of 250 statements each, by writers who had not seen the rules. Pure.

All statements of a set are true at the same time, and many are about the same things. `lines.yaml` holds lines of
two facts, each with a newer statement that changes one of them, and with what the other one is known by. The files
are data of a checkout: a wheel does not bring them along.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import yaml

from memex.store.search.analyzer import Analyzer, analyzer_of
from memex.subagent.statements.comparison.relations import Weights, compare, decide
from memex.subagent.statements.comparison.views import StatementView, view
from memex.subagent.statements.extraction import Statement, extract_statements

FOLDER = Path(str(files("memex.evals"))) / "true_statements"
LANGUAGES = {"en": "english", "de": "german", "fr": "french", "es": "spanish"}


@dataclass(frozen=True, slots=True)
class TrueStatements:
    """A set: its name, such as `03.de`, its statements, and the language of a memory that holds them."""

    name: str
    lines: tuple[str, ...]
    language: str

    @property
    def analyzer(self) -> Analyzer:
        """The analyzer that makes lexemes of the statements."""
        return analyzer_of(self.language)


@dataclass(frozen=True, slots=True)
class TwoFacts:
    """A line of two facts, a newer statement that changes one of them, and words that only the other one has."""

    older: str
    newer: str
    stays: str
    language: str


@dataclass(frozen=True, slots=True)
class RemovedPair:
    """A pair of which the newer statement takes the older one out."""

    newer: str
    older: str


def load_sets() -> list[TrueStatements]:
    """Return all sets."""
    return [
        TrueStatements(
            path.stem, tuple(path.read_text(encoding="utf-8").splitlines()), LANGUAGES[path.stem[3:]]
        )
        for path in sorted((FOLDER / "sets").glob("*.txt"))
    ]


def load_lines() -> list[TwoFacts]:
    """Return the lines of two facts."""
    data = yaml.safe_load((FOLDER / "lines.yaml").read_text(encoding="utf-8"))
    return [
        TwoFacts(older, newer, stays, LANGUAGES[name])
        for name, rows in data.items()
        for older, newer, stays in rows
    ]


@cache
def statements_of(line: str) -> tuple[Statement, ...]:
    """Return the statements of a line, as memory files them."""
    return extract_statements(line).statements


def views_of(one: TrueStatements) -> list[StatementView]:
    """Return the statements of a set as they are compared."""
    return [view(said.text, said.kind, one.analyzer) for line in one.lines for said in statements_of(line)]


def removed_pairs(newer: Sequence[StatementView], older: Sequence[StatementView]) -> Iterator[RemovedPair]:
    """Yield the pairs of which the newer statement takes the older one, or a fact of it, out.

    Each pair is compared by itself.
    """
    weights: Weights = {}
    for new in newer:
        for old in older:
            if new is old:
                continue
            found = decide(new, [compare(new, old, weights)], with_facts=True)
            if found is not None and found.outcome != "rival":
                yield RemovedPair(new.text, old.text)


def standing_after(line: TwoFacts) -> tuple[str, bool]:
    """Return what memory holds of a line after its newer statement, and whether the older one was changed."""
    analyzer = analyzer_of(line.language)
    new = [view(statement.text, statement.kind, analyzer) for statement in statements_of(line.newer)]
    texts, is_changed = [newer.text for newer in new], False
    for older in statements_of(line.older):
        old = view(older.text, older.kind, analyzer)
        decided = (decide(other, [compare(other, old, {})], with_facts=True) for other in new)
        found = next(filter(None, decided), None)
        is_going = found is not None and found.outcome != "rival"
        is_changed = is_changed or is_going
        texts.append(found.rest if found is not None and is_going else old.text)
    return "\n".join(texts), is_changed
