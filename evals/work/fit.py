"""Fits the model of `subagent/work/classifier` to turns of independent writers.

Run `python -m memex.evals.work.fit` for the figures, and with `--write` to write the file of weights.

The files of `writers/` hold labelled turns of coding sessions; those whose names begin alike have one writer, who
had not seen the rules. `turns/own.yaml` is fitted too. The figures are cross-validated with one writer left out at
a time: they tell how well the turns of an unknown writer are read. The bound of each kind is chosen there as well.

Of all features, those of most effect are kept and fitted again, which keeps the file small.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

import numpy as np
from scipy import sparse

from memex.evals.work.measure import compare, own_turns
from memex.evals.work.regression import FeatureMatrix, Floats, fit
from memex.evals.work.writers import WrittenTurn, load_written_turns
from memex.subagent.work.classifier.clauses import Clause, cut_clauses
from memex.subagent.work.classifier.features import ClauseFeatures, clause_features, tokens
from memex.subagent.work.classifier.model import (
    BIAS,
    KINDS,
    SCALE,
    UNIT,
    ClauseModel,
    allowed_kinds,
    valued,
)
from memex.subagent.work.classifier.patterns import pattern_kind
from memex.subagent.work.masking import mask
from memex.subagent.work.records import WorkAuthor
from memex.subagent.work.rules import load_labels, load_rules

PENALTY = 1.0
STEPS = 80
FEATURES = 20_000  # that are kept
COMMON_WORDS = 300
OWN = "own"  # the turns that were written together with the rules; never left out
NEVER = -1_000_000  # the score of a kind that a clause may not be of
BOUNDS = range(-15, 31)  # of the score of a kind above that of nothing, in parts of `SCALE`
WANTED_PRECISION = 0.75
WRONG_COUNTS = 0.1  # in the F-measure: how much recall counts beside precision
_CLAUSE_SHARE = 0.5  # of a label or of a clause must be common, or the clause does not say it


@dataclass(frozen=True, slots=True)
class LabelledClauses:
    """The clauses of all turns with their features, and what they say: a row for each clause."""

    clauses: Sequence[Clause]
    turns: Sequence[int]
    writers: np.ndarray
    wanted: Floats

    @classmethod
    def of(cls, turns: Sequence[WrittenTurn]) -> "LabelledClauses":
        """Return the clauses of turns; what no label touches says nothing, the last class."""
        clauses, numbers, rows = [], [], []
        for number, turn in enumerate(turns):
            for clause in _cut(turn):
                said = [float(kind in _said(clause, turn)) for kind in KINDS]
                row = np.array([*said, float(not any(said))])
                rows.append(row / row.sum())
                clauses.append(clause)
                numbers.append(number)
        writers = np.array([turns[number].writer for number in numbers])
        return cls(clauses, numbers, writers, np.array(rows))


def main() -> None:
    """Print how well the turns of each writer are read by the others; write the file if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the file")
    options = parser.parse_args()
    turns = [*load_written_turns(), *own_turns(OWN)]
    data = LabelledClauses.of(turns)
    common = _common_words(data.clauses)
    groups = [clause_features(clause, common) for clause in data.clauses]
    writers = sorted(set(data.writers) - {OWN})
    models = {writer: _fitted(data, groups, common, data.writers != writer) for writer in writers}
    least = _choose_bounds(turns, data, groups, models)
    models = {writer: replace(model, least=least) for writer, model in models.items()}
    for writer in writers:
        _report(writer, _measure([turn for turn in turns if turn.writer == writer], models))
    _report("all", _measure([turn for turn in turns if turn.writer != OWN], models))
    if options.write:
        everything = np.full(len(groups), fill_value=True)
        model = replace(_fitted(data, groups, common, everything), least=least)
        model.save(Path(str(files("memex.subagent.work.classifier"))) / "clause_kinds.npz")


def _cut(turn: WrittenTurn) -> list[Clause]:
    who: WorkAuthor = "human" if turn.role == "user" else "agent"
    return list(cut_clauses(mask(turn.text), who, load_labels(), load_rules()))


def _said(clause: Clause, turn: WrittenTurn) -> set[str]:
    """Return the kinds whose labels share at least half of themselves, or of the clause, with the clause."""
    found = set()
    for kind, start, end in turn.spans:
        common = min(end, clause.end) - max(start, clause.start)
        if common > 0 and common >= _CLAUSE_SHARE * min(end - start, clause.end - clause.start):
            found.add(kind)
    return found


def _common_words(clauses: Sequence[Clause]) -> frozenset[str]:
    counts = Counter(
        word for clause in clauses for word in {token.casefold() for token in tokens(clause.text)}
    )
    words = [word for word in counts if word[0].isalpha()]
    return frozenset(sorted(words, key=lambda word: (-counts[word], word))[:COMMON_WORDS])


def _fitted(
    data: LabelledClauses, groups: Sequence[ClauseFeatures], common: frozenset[str], chosen: np.ndarray
) -> ClauseModel:
    """Return the model that is fitted to the chosen clauses, without the bounds."""
    places = np.flatnonzero(chosen).tolist()
    matrix = FeatureMatrix.of([_values(groups[place]) for place in places])
    kept = _most_effective(matrix, _weights(matrix.rows, data.wanted[places]))
    weights = np.rint(_weights(matrix.rows[:, kept], data.wanted[places]) * SCALE).astype(np.int64)
    weighty = np.flatnonzero(weights.any(axis=1)).tolist()
    places_of = {matrix.names[kept[old]]: new for new, old in enumerate(weighty)}
    return ClauseModel(places_of, weights[weighty], (), common)


def _weights(rows: sparse.csr_matrix, wanted: Floats) -> Floats:
    return fit(rows, wanted, penalty=PENALTY, steps=STEPS)


def _most_effective(matrix: FeatureMatrix, weights: Floats) -> list[int]:
    """Return the columns of the features that change scores most over all clauses.

    Those of single words are all kept, because a language counts as known by them; so is the bias. What the weights
    of all classes have in common changes no score relative to another.
    """
    sizes = np.sqrt(np.asarray(matrix.rows.power(2).sum(axis=0)).ravel())
    effects = np.abs(weights - weights.mean(axis=1, keepdims=True)).max(axis=1) * sizes
    effects[[name == BIAS or name.startswith("w ") for name in matrix.names]] = np.inf
    return sorted(np.argsort(-effects, kind="stable")[:FEATURES].tolist())


def _values(features: ClauseFeatures) -> Mapping[str, float]:
    """Return the value of each feature, as `ClauseModel.scores` counts it."""
    values = Counter[str]()
    for value, group in valued(features):
        for feature in group:
            values[feature] += value
    return {feature: value / UNIT for feature, value in values.items()}


def _choose_bounds(
    turns: Sequence[WrittenTurn],
    data: LabelledClauses,
    groups: Sequence[ClauseFeatures],
    models: Mapping[str, ClauseModel],
) -> tuple[int, ...]:
    """Return for each kind the bound with the best mean of precision and recall, of those that are right enough."""
    margins, wanted = [], []
    for clause, number, features, writer in zip(data.clauses, data.turns, groups, data.writers, strict=True):
        is_sure = clause.listed or pattern_kind(clause, load_rules())
        scores = None if writer == OWN or is_sure else models[writer].scores(features)
        if scores is None:
            continue
        best = max(allowed_kinds(clause), key=lambda kind: scores[KINDS.index(kind)], default=None)
        margins.append(
            [scores[place] - scores[-1] if kind == best else NEVER for place, kind in enumerate(KINDS)]
        )
        touched = {
            kind for kind, start, end in turns[number].spans if start < clause.end and clause.start < end
        }
        wanted.append([kind in touched for kind in KINDS])
    return tuple(
        _choose_bound(np.array(margins)[:, place], np.array(wanted)[:, place]) for place in range(len(KINDS))
    )


def _choose_bound(margins: np.ndarray, wanted: np.ndarray) -> int:
    tried = []
    for bound in (parts * UNIT for parts in BOUNDS):
        found = margins >= bound
        right = (found & wanted).sum()
        is_right_enough = right >= WANTED_PRECISION * found.sum()
        # Where none is right enough, being right counts for more than finding all.
        weight = 1.0 if is_right_enough else WRONG_COUNTS
        f_measure = (1 + weight) * right / max(1, found.sum() + weight * wanted.sum())
        tried.append((is_right_enough, f_measure, -bound))
    return -max(tried)[2]


def _measure(
    turns: Sequence[WrittenTurn], models: Mapping[str, ClauseModel]
) -> dict[str, tuple[int, int, int]]:
    """Return for each kind how many spans are right, found and labelled, each turn read by its writer's model."""
    counts = dict[str, tuple[int, int, int]]()
    for turn in turns:
        for kind, (right, found, labelled) in compare(
            turn.role, turn.text, turn.spans, KINDS, model=models[turn.writer]
        ).items():
            had = counts.get(kind, (0, 0, 0))
            counts[kind] = had[0] + right, had[1] + found, had[2] + labelled
    return counts


def _report(name: str, counts: Mapping[str, tuple[int, int, int]]) -> None:
    shares = [
        f"{kind} {right / max(1, found):.2f} / {right / max(1, labelled):.2f} n={labelled}"
        for kind, (right, found, labelled) in counts.items()
    ]
    sys.stdout.write("\n  ".join([f"{name}, precision / recall:", *shares]) + "\n")


if __name__ == "__main__":
    main()
