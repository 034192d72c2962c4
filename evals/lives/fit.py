"""Fits the weights of `subagent/statements/comparison/relations.py` to the open lives.

Run `python -m memex.evals.lives.fit`.

Each statement of a life is compared with the earlier statements that are most alike. A pair counts as a
contradiction if the life says that a fact of the new statement replaces or closes a fact of the older one. The open
pairs of `memex.evals.lives.pairs` count as one more life. The regression is logistic, with a small penalty; the
figures are cross-validated, one life left out at a time.
"""

import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from memex.evals.lives import regression
from memex.evals.lives.life import Fact, Life, LifeText, load_life, shipped_lives, squash
from memex.evals.lives.pairs import FILES, StatementPair, load_pairs
from memex.evals.lives.pairs import LANGUAGES as PAIR_LANGUAGES
from memex.evals.lives.play import LANGUAGES
from memex.store.search.analyzer import Analyzer, analyzer_of
from memex.subagent.statements.comparison.relations import compare, features, lead_of
from memex.subagent.statements.comparison.views import StatementView, view
from memex.subagent.statements.extraction import extract_statements

CANDIDATES = 8  # older statements, the most alike, of which each is a pair
PENALTY = 1.0
STEPS = 1_000
TYPICAL_STATEMENTS = 200  # of a memory, by which the words of pairs are weighed
THRESHOLDS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Pair:
    """A new statement and an older one, as numbers, and whether the new one contradicts the older one."""

    life: str
    features: tuple[float, ...]
    is_contradiction: bool


@dataclass(slots=True)
class _Stored:
    view: StatementView
    project: str | None


def weights_of(views: Iterable[StatementView], *, among: int = 0) -> dict[str, float]:
    """Return the idf of the words of statements: rare words say more about what a statement is about.

    Args:
        views: the statements.
        among: the number of statements of which these are a sample, if there are more.
    """
    counts: Counter[str] = Counter()
    total = 0
    for one in views:
        total += 1
        counts.update(one.topic)
    total = max(total, among)
    return {lexeme: math.log(1 + (total - count + 0.5) / (count + 0.5)) for lexeme, count in counts.items()}


def pairs_of(life: Life) -> Iterator[Pair]:
    """Yield the pairs of a life, as memory would compare them if each contradiction were found."""
    analyzer = analyzer_of(LANGUAGES[life.content.language])
    stored: list[_Stored] = []
    for text in life.content.texts:
        weights = weights_of(older.view for older in stored)
        new = _views(text.text, analyzer)
        gone: list[_Stored] = []
        for newer in new:
            changed = _changed(text, newer, life)
            compared = [
                (compare(newer, old.view, weights, is_same_scope=old.project == text.project), old)
                for old in stored
            ]
            ranked = sorted(compared, key=lambda pair: -pair[0].likeness)[:CANDIDATES]
            for place, (comparison, old) in enumerate(ranked):
                is_contradiction = any(fact.stands_in(squash(old.view.text)) for fact in changed)
                lead = lead_of(place, [pair[0] for pair in ranked])
                yield Pair(life.name, features(newer, comparison, lead), is_contradiction)
                if is_contradiction:
                    gone.append(old)
        stored = [old for old in stored if old not in gone] + [_Stored(newer, text.project) for newer in new]


def pairs_of_statements(pairs: Sequence[StatementPair]) -> Iterator[Pair]:
    """Yield the pairs of each newer statement with the older ones of its language; frames need no weights."""
    for language, analyzer in ((code, analyzer_of(name)) for code, name in PAIR_LANGUAGES.items()):
        mine = [pair for pair in pairs if pair.lang == language]
        older = [(pair.id, older_view) for pair in mine for older_view in _views(pair.older, analyzer)]
        weights = weights_of((older_view for _, older_view in older), among=TYPICAL_STATEMENTS)
        for pair in mine:
            for new in _views(pair.newer, analyzer)[:1]:
                if new.is_guarded:
                    continue
                compared = [(compare(new, older_view, weights), of) for of, older_view in older]
                ranked = sorted(compared, key=lambda found: -found[0].likeness)[:CANDIDATES]
                for place, (comparison, of) in enumerate(ranked):
                    if not comparison.is_same_frame:
                        lead = lead_of(place, [found[0] for found in ranked])
                        is_contradiction = of == pair.id and pair.truth != "both"
                        yield Pair("pairs", features(new, comparison, lead), is_contradiction)


def fit(matrix: Floats, labels: Floats) -> Floats:
    """Return the weights of a logistic regression of two classes; the first column is the bias."""
    scale = matrix.std(axis=0)
    scale[scale == 0] = 1
    wanted = np.column_stack((1 - labels, labels))
    # The weights of the two classes are opposite, and each has half of what tells them apart.
    fitted = regression.fit(sparse.csr_matrix(matrix / scale), wanted, penalty=2 * PENALTY, steps=STEPS)
    weights: Floats = (fitted[:, 1] - fitted[:, 0]) / scale
    return weights


def main() -> None:
    """Print the weights, and how many contradictions are found at each threshold."""
    lives = [load_life(path) for path in shipped_lives()]
    pairs = [pair for life in lives if not life.is_sealed for pair in pairs_of(life)]
    pairs += pairs_of_statements(load_pairs(FILES["open"]))
    matrix = np.array([(1.0, *pair.features) for pair in pairs])
    labels = np.array([float(pair.is_contradiction) for pair in pairs])
    names = np.array([pair.life for pair in pairs])
    likelihood = np.zeros(len(pairs))
    for name in sorted(set(names)):
        left_out = names == name
        weights = fit(matrix[~left_out], labels[~left_out])
        likelihood[left_out] = 1 / (1 + np.exp(-matrix[left_out] @ weights))
    lines = [f"weights: {', '.join(f'{weight:.2f}' for weight in fit(matrix, labels))}"]
    for threshold in THRESHOLDS:
        found = likelihood >= threshold
        right, wrong = int(labels[found].sum()), int((1 - labels[found]).sum())
        lines.append(f"from {threshold}: {right} of {int(labels.sum())} found, {wrong} wrongly")
    sys.stdout.write("\n".join(lines) + "\n")


def _views(text: str, analyzer: Analyzer) -> list[StatementView]:
    return [
        view(statement.text, statement.kind, analyzer) for statement in extract_statements(text).statements
    ]


def _changed(text: LifeText, new: StatementView, life: Life) -> list[Fact]:
    """Return the facts that a new statement makes out of date."""
    mine = [fact for fact in text.facts if fact.stands_in(squash(new.text)) and fact.how != "amends"]
    return [life.facts[changed] for fact in mine for changed in fact.changes]


if __name__ == "__main__":
    main()
