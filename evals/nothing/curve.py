"""Counts of questions that lose their answer, and of foreign ones with none, by least confidence. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from memex.evals.report.table import Table

LOST = (
    0.0,
    0.01,
    0.02,
    0.03,
    0.05,
    0.1,
)  # shares of the answerable questions, for each of which a row is made


@dataclass(frozen=True, slots=True)
class JudgedQuestion:
    """A question that a memory was asked.

    Attributes:
        is_foreign: it is about another memory.
        is_answered: the context, when nothing is refused, holds a piece of its evidence.
        score: of the confidence, from 0 to 1.
        is_refused: the band is `none`.
    """

    is_foreign: bool
    is_answered: bool
    score: float
    is_refused: bool


def curve(title: str, asked: Sequence[JudgedQuestion]) -> Table:
    """Return for rising least scores how many answerable questions lose their answer, and foreign ones get nothing.

    The last row is what the service does.
    """
    answerable = [question for question in asked if question.is_answered]
    foreign = [question for question in asked if question.is_foreign]
    rows = []
    for lost in LOST:
        least = sorted(question.score for question in answerable)[
            min(int(lost * len(answerable)), len(answerable) - 1)
        ]
        rows.append(
            (
                f"{least:.3f}",
                _percent([question.score < least for question in answerable]),
                _percent([question.score < least for question in foreign]),
            )
        )
    served = (
        "as the service does",
        _percent([question.is_refused for question in answerable]),
        _percent([question.is_refused for question in foreign]),
    )
    title = f"{title}: {len(answerable):,} answerable and {len(foreign):,} foreign questions"
    columns = ("least score", "answerable lost, per cent", "foreign with nothing, per cent")
    return Table(title, columns, (*rows, served))


def _percent(held: Sequence[bool]) -> str:
    return f"{100 * sum(held) / len(held):.1f}" if held else "–"
