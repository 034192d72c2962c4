"""The confidence of a search that memory answers a question, from the strength of its evidence. Pure.

The evidence of a file is its share: its score by words, of the most that the question could score. Where word
pieces were compared, twice its MaxSim is added. The score tells how often a question with so much evidence is one
that the memory can answer, where every second question is. The points were fitted to the suite `foreign`, and
checked by two-fold cross-fitting: docs/retrieval.md has the figures.

The evidence of a context is that of its best line: its MaxSim, or its share where it was not compared (the share of
its passage too, where search goes by words alone). The share of the best of more passages is higher by chance, so
a part goes off for each tenfold of them. The MaxSim of a question of few words says less, so such a question is
refused less easily, above all if memory holds one of its words. `python -m memex.evals.nothing` prints the curve by
which the points were chosen.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log10

from memex.settings import Band

BANDS: tuple[Band, ...] = ("none", "weak", "fair", "strong")
LEAST: dict[Band, float] = {"strong": 0.9, "fair": 0.5, "weak": 0.1}  # the lowest score of a band
DEFAULT_MIN_CONFIDENCE: Band = "weak"
INTERACTION_WEIGHT = 2.0  # of MaxSim beside the share
DIGITS = 3

Points = Sequence[tuple[float, float]]  # evidence and its score, both rising; straight lines between them
BY_WORDS: Points = ((0.0, 0.0), (0.116, 0.1), (0.216, 0.5), (0.34, 0.9), (1.0, 1.0))
BY_ALL: Points = ((0.0, 0.0), (0.865, 0.1), (1.095, 0.5), (1.27, 0.9), (3.0, 1.0))

# Of the best line of a context:
BY_SIMILARITY: Points = ((0.0, 0.0), (0.3, 0.1), (0.4, 0.5), (0.47, 0.9), (1.0, 1.0))
BY_SHARE: Points = ((-0.2, 0.0), (-0.08, 0.1), (0.1, 0.5), (0.22, 0.9), (1.0, 1.0))
SHARE_CHANCE = 0.06  # less for ten times as many passages, of which the best one fits better by chance
LONG_QUESTION = 7  # words of a question whose MaxSim says enough
SHORT_QUESTION = 0.02  # that is added to the MaxSim for each word that a question has less
SHORT_UNSHARED = 0.005  # likewise, if memory holds no word of the question
CHANCE_PASSAGES = 500  # of a larger memory no more goes off


@dataclass(frozen=True, slots=True)
class Confidence:
    """The confidence of a search, from 0 to 1, and the band in which this score lies."""

    score: float
    band: Band


def score_of(share: float, interaction: float | None) -> float:
    """Return how sure a search may be, from 0 to 1; more of either evidence never gives less.

    Args:
        share: the score by words, of the most that the question could score, from 0 to 1.
        interaction: the MaxSim, from -1 to 1; None where word pieces were not compared.
    """
    if interaction is None:
        return _on_lines(BY_WORDS, share)
    return _on_lines(BY_ALL, share + INTERACTION_WEIGHT * interaction)


def best_line(
    found: Iterable[tuple[float, float | None]], passages: int, *, words: int = LONG_QUESTION
) -> Confidence:
    """Return how sure it is that memory answers, by the line with the most evidence.

    A line that was not compared, and shares no word with the question, is no evidence.

    Args:
        found: of each line its share, from 0 to 1, and its MaxSim, from -1 to 1; None where it was not compared.
        passages: how many the memory holds that was searched.
        words: of the question, also those that memory does not hold; stop words not counted.
    """
    evidence = list(found)
    is_shared = any(share > 0 for share, _ in evidence)
    by_share = max([share for share, similarity in evidence if similarity is None], default=0.0)
    by_similarity = max([similar for _, similar in evidence if similar is not None], default=-1.0)
    by_similarity += (SHORT_QUESTION if is_shared else SHORT_UNSHARED) * max(0, LONG_QUESTION - words)
    chance = SHARE_CHANCE * log10(min(max(passages, 1), CHANCE_PASSAGES))
    score = max(
        _on_lines(BY_SHARE, by_share - chance) if by_share else 0.0,
        _on_lines(BY_SIMILARITY, by_similarity),
    )
    return Confidence(score, band_of(score))


def band_of(score: float) -> Band:
    """Return the band of a score."""
    return next((band for band, least in LEAST.items() if score >= least), "none")


def is_below(band: Band, least: Band) -> bool:
    """Tell whether a band is lower than another one."""
    return BANDS.index(band) < BANDS.index(least)


def _on_lines(points: Points, evidence: float) -> float:
    """Return the score of some evidence, on the straight lines between points."""
    for (start, low), (end, high) in pairwise(points):
        if evidence <= end:
            return round(low + (high - low) * max(0.0, evidence - start) / (end - start), DIGITS)
    return points[-1][1]
