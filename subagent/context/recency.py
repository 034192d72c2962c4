"""The part of a line's score that it has for being said lately. Pure.

    recency(line) = 0.05 / (1 + days between it and the newest line that was found)

What was needed lately is more likely to be needed next, and how likely falls as a power of time: J. R. Anderson and
L. J. Schooler, "Reflections of the environment in memory", Psychological Science 2 (1991). The days are counted
from the newest line, not from the day of the question: an unchanged memory gives the same context tomorrow.
"""

from collections.abc import Sequence
from datetime import date

from memex.store.entry_path import is_entry_at
from memex.subagent.context.pool import ContextLine, best_first

RECENCY = (
    0.05  # of a line said on the newest day; 0.1 costs a point of BEAM at 1,500 characters, three at 4,000
)


def newest_day(*pools: Sequence[ContextLine]) -> date | None:
    """Return the newest day on which a line of these was said; None if no day is known."""
    dated = [
        line
        for lines in pools
        for line in lines
        if line.unit is not None or line.included is not None or is_entry_at(line.candidate.reference.path)
    ]
    return max([day for line in dated if (day := line.day) is not None], default=None)


def with_recency(lines: Sequence[ContextLine], newest: date | None) -> list[ContextLine]:
    """Return lines, best first, with their recency in their scores.

    A line of which no day is known, or that nothing speaks for, keeps its score.

    Args:
        lines: with their scores.
        newest: the day from which days are counted back; see `newest_day`.
    """
    if newest is None:
        return list(lines)
    return best_first(
        line
        if line.score <= 0 or (day := line.day) is None
        else line._replace(score=line.score + RECENCY / (1 + (newest - day).days))
        for line in lines
    )
