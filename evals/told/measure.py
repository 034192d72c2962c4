"""Figures of contexts: the evidence that came back, the characters, and how many are evidence. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memex.evals.report.table import Table
from memex.evals.told.questions import ToldQuestion
from memex.evals.told.recall import is_recalled

Ways = Mapping[str, Mapping[int, "ContextFigures"]]  # by who answered and when, and by budget


@dataclass(slots=True)
class ContextFigures:
    """Figures of the contexts of one program in one budget.

    Attributes:
        questions: how many were asked.
        pieces: of evidence, by the group of the question.
        recalled: those that the contexts held.
        used_chars: of all contexts.
        evidence_chars: of the different sentences that were recalled.
    """

    questions: int = 0
    pieces: Counter[str] = field(default_factory=Counter)
    recalled: Counter[str] = field(default_factory=Counter)
    used_chars: int = 0
    evidence_chars: int = 0

    def count(self, question: ToldQuestion, context: str) -> None:
        """Count the context that answered a question."""
        held = [sentence for sentence in question.evidence if is_recalled(context, sentence)]
        self.questions += 1
        self.pieces[question.group] += len(question.evidence)
        self.recalled[question.group] += len(held)
        self.used_chars += len(context)
        self.evidence_chars += sum(map(len, set(held)))

    def recalled_percent(self, group: str | None = None) -> float:
        """Return the per cent of the pieces of evidence that were recalled, of all groups or of one."""
        if group is not None:
            return _percent(self.recalled[group], self.pieces[group])
        return _percent(self.recalled.total(), self.pieces.total())

    @property
    def mean_chars(self) -> float:
        """The characters of a context."""
        return self.used_chars / max(1, self.questions)

    @property
    def evidence_percent(self) -> float:
        """The per cent of the characters of the contexts that are recalled sentences."""
        return _percent(self.evidence_chars, self.used_chars)

    def document(self) -> dict[str, Any]:
        """Return the figures for programs."""
        return {
            "questions": self.questions,
            "pieces": self.pieces.total(),
            "recalled": self.recalled.total(),
            "used_chars": self.used_chars,
            "evidence_chars": self.evidence_chars,
            "groups": {
                group: {"pieces": pieces, "recalled": self.recalled[group]}
                for group, pieces in sorted(self.pieces.items())
            },
        }


def figures_table(title: str, ways: Ways, budgets: Sequence[int], *, with_groups: bool = False) -> Table:
    """Return the one table of a data set: a column for each budget, and three parts with a row for each way."""
    rows = [_heading("evidence recalled, per cent", budgets)]
    for way, by_budget in ways.items():
        rows.append((way, *(f"{by_budget[budget].recalled_percent():.1f}" for budget in budgets)))
        for group in sorted(by_budget[budgets[0]].pieces) if with_groups else ():
            shares = (by_budget[budget].recalled_percent(group) for budget in budgets)
            rows.append((f"… {group}", *(f"{share:.1f}" for share in shares)))
    rows.append(_heading("characters used", budgets))
    for way, by_budget in ways.items():
        rows.append((way, *(f"{by_budget[budget].mean_chars:,.0f}" for budget in budgets)))
    rows.append(_heading("of these characters, evidence, per cent", budgets))
    for way, by_budget in ways.items():
        rows.append((way, *(f"{by_budget[budget].evidence_percent:.1f}" for budget in budgets)))
    return Table(title, ("budget in characters", *(f"{budget:,}" for budget in budgets)), tuple(rows))


def _heading(name: str, budgets: Sequence[int]) -> tuple[str, ...]:
    return (f"**{name}**", *("" for _ in budgets))


def to_markdown(table: Table) -> str:
    """Return a table as Markdown, below its title; its columns are padded, so that it also reads in a terminal."""
    lines = [table.columns, ("---", *("---:" for _ in table.columns[1:])), *table.rows]
    first, *others = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = (
        [line[0].ljust(first), *(cell.rjust(width) for cell, width in zip(line[1:], others, strict=True))]
        for line in lines
    )
    return "\n".join([table.title, "", *(f"| {' | '.join(cells)} |" for cells in padded)])


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0
