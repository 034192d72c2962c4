"""Figures of runs: means with their intervals, and what changed between two runs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over questions, with its 95 % bootstrap interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """The change of a mean between two runs over the same questions.

    Attributes:
        value: the new mean minus the old mean.
        low: the lower end of the 95 % interval, by a paired bootstrap over the questions.
        high: the upper end.
        p: the two-sided p of the bootstrap. It is never below the p that a sign test could give, because a
            bootstrap over few questions is too certain.
        gained: the number of questions whose measure rose.
        lost: the number of questions whose measure fell.
        mcnemar: the p of McNemar's exact test, for a measure that is 0 or 1; None for any other measure.
    """

    value: float
    low: float
    high: float
    p: float
    gained: int
    lost: int
    mcnemar: float | None


Figures = dict[str, dict[str, Estimate]]  # by group, by measure
Changes = dict[str, dict[str, PairedDifference]]  # by group, by measure
