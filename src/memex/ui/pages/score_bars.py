"""The scores that each list of a search gave its hits, as bars: words, neighbours, meaning. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ScoreBars:
    """The parts of a score, each as a share of the best hit's whole; None where a hit does not tell it.

    Attributes:
        words: what the words of the passage gave.
        neighbours: what the words of neighbouring files in a numbered series gave.
        meaning: what the nearness of the vectors gave; None in a search by words alone.
    """

    words: float | None
    neighbours: float | None
    meaning: float | None


def score_bars(matches: Sequence[Mapping[str, Any]]) -> list[ScoreBars]:
    """Return the bars of hits, by the member `match` of each.

    Where token states were compared, each match has its share of words, and its value has the rest from meaning.
    A blended score is the score by words as a share of the best one, and a value for nearness on top. The best
    score by words is not in each answer: a hit that vectors did not find, or the first by words, gives it away.
    """
    if any(match.get("interaction") is not None for match in matches):
        return _normalized([_evidence(match) for match in matches])
    is_fused = any(match["fused"] is not None for match in matches)
    top = max((match["score"] for match in matches), default=0) if not is_fused else _top_by_words(matches)
    if top is None:
        return [ScoreBars(None, None, None) for _ in matches]
    return _normalized([_parts(match, top) for match in matches])


def _normalized(parts: Sequence[tuple[float, float, float | None]]) -> list[ScoreBars]:
    best = max((words + neighbours + (meaning or 0.0) for words, neighbours, meaning in parts), default=0.0)
    return [
        ScoreBars(words / best, neighbours / best, None if meaning is None else meaning / best)
        if best
        else ScoreBars(0.0, 0.0, meaning)
        for words, neighbours, meaning in parts
    ]


def _evidence(match: Mapping[str, Any]) -> tuple[float, float, float | None]:
    share, score = match["share"] or 0.0, match["score"]
    own, lent = (
        sum(match[name].values()) / score * share if score else 0.0 for name in ("terms", "borrowed")
    )
    return own, lent, max(0.0, match["fused"] - share)


def _top_by_words(matches: Sequence[Mapping[str, Any]]) -> float | None:
    """Return the best score by words of a blended list; None if the hits do not give it away."""
    for match in matches:
        if match["bm25_rank"] == 1:
            return float(match["score"])
    for match in matches:
        if match["vector_rank"] is None and match["fused"]:
            return float(match["score"] / match["fused"])
    return 1.0 if all(match["score"] == 0 for match in matches) else None


def _parts(match: Mapping[str, Any], top: float) -> tuple[float, float, float | None]:
    own, lent = (sum(match[name].values()) / top if top else 0.0 for name in ("terms", "borrowed"))
    if match["fused"] is None:
        return own, lent, None
    return own, lent, max(0.0, match["fused"] - match["score"] / top)
