"""Fits the classifier of `subagent/statements/classifier` to what invented people said.

Run `python -m memex.evals.reading.fit` for the figures, and with `--write` to write the table of weights.

The files of `sentences/` hold a class and a sentence in each line. Each file has another writer, who had seen
neither the rules nor the code, after the brief in `SENTENCES.md`. The figures are cross-validated with one file
left out at a time: they tell how well the sentences of an unknown writer are read.
"""

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memex.evals.reading.regression import FeatureMatrix, Floats, fit, rounded, write_table
from memex.subagent.statements.classifier.classifier import ADDRESSED_FROM, ASKS_FROM, CLASSES, KEPT
from memex.subagent.statements.classifier.features import feature_groups
from memex.subagent.statements.classifier.linear import BIAS, feature_values
from memex.subagent.statements.extraction import rule_verdict

SENTENCES = Path(str(files("memex.evals.reading") / "sentences"))
# How often people say a thing of a class, in hundredths; counted in the open lives. The writers were asked for more
# of what is hard to tell apart.
SHARES = {
    "fact": 33,
    "event": 22,
    "task": 12,
    "decision": 9,
    "rule": 8,
    "done": 6,
    "preference": 6,
    "open": 4,
}


@dataclass(frozen=True, slots=True)
class LabelledSentence:
    """A sentence, what it is, and who wrote it."""

    text: str
    label: str
    writer: str


def load_sentences(folder: Path = SENTENCES) -> list[LabelledSentence]:
    """Return the sentences of a folder, in the order of its files."""
    return [
        LabelledSentence(text, label, path.stem)
        for path in sorted(folder.glob("*.tsv"))
        for line in path.read_text(encoding="utf-8").splitlines()
        for label, _, text in [line.partition("\t")]
        if text
    ]


def main() -> None:
    """Print how well the texts of each writer are read by the others; write the tables if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the tables")
    parser.add_argument("--quick", action="store_true", help="with --write: skip the cross-validation")
    options = parser.parse_args()
    if options.quick and not options.write:
        parser.error("--quick alone does nothing: add --write")
    _fit_classes(load_sentences(), is_quick=options.quick, is_written=options.write)


def _fit_classes(sentences: Sequence[LabelledSentence], *, is_quick: bool, is_written: bool) -> None:
    matrix = FeatureMatrix.of(
        [feature_values(feature_groups(one.text, rule_verdict(one.text))) for one in sentences]
    )
    labels = np.array([CLASSES.index(one.label) for one in sentences])
    wanted = np.eye(len(CLASSES))[labels]
    writers = np.array([one.writer for one in sentences])
    if not is_quick:
        likelihood = np.zeros_like(wanted)
        for writer in sorted(set(writers)):
            left_out = writers == writer
            weights = rounded(fit(matrix.rows[~left_out], wanted[~left_out], is_exclusive=True))
            likelihood[left_out] = _softmax(matrix.rows[left_out] @ weights)
            _report(writer, likelihood[left_out], labels[left_out])
        _report("all", likelihood, labels)
    if is_written:
        weights = fit(matrix.rows, wanted, is_exclusive=True)
        weights[matrix.names.index(BIAS)] += _shift(labels)
        write_table("sentence_classes", rounded(weights), matrix.names)


def _shift(labels: NDArray[np.int64]) -> Floats:
    """Return what brings the classes from their shares among the sentences to those among what people say."""
    counts = np.bincount(labels, minlength=len(CLASSES)).astype(float)
    kept = counts[: len(KEPT)].sum()
    shift = np.zeros(len(CLASSES))
    for one, share in SHARES.items():
        place = CLASSES.index(one)
        shift[place] = math.log(share / 100 / (counts[place] / kept))
    return shift


def _softmax(scores: Floats) -> Floats:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _report(name: str, likelihood: Floats, labels: NDArray[np.int64]) -> None:
    is_right = likelihood.argmax(axis=1) == labels
    kept = likelihood[:, : len(KEPT)].sum(axis=1)
    is_worth = labels < len(KEPT)
    parts = [f"{name}: {len(labels)} sentences, class right {is_right.mean():.1%}"]
    parts += [
        f"kept from {least}: lost {(kept[is_worth] < least).mean():.1%}, "
        + ", ".join(
            f"{CLASSES[place]} kept {(kept[labels == place] >= least).mean():.0%}"
            for place in range(len(KEPT), len(CLASSES))
        )
        for least in (0.3, 0.5)
    ]
    parts.append(
        "right: "
        + ", ".join(f"{one} {is_right[labels == place].mean():.0%}" for place, one in enumerate(CLASSES))
    )
    forget = likelihood[:, CLASSES.index("forget")]
    asked = labels == CLASSES.index("forget")
    parts += [
        f"forget from {least}: {(forget[asked] >= least).mean():.0%} found, "
        f"{(forget[~asked] >= least).sum()} wrongly"
        for least in (ADDRESSED_FROM, ASKS_FROM)
    ]
    sys.stdout.write("\n  ".join(parts) + "\n")


if __name__ == "__main__":
    main()
