"""Questions that ask for a list, such as what is still to be done: what they ask for."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

from memex.subagent.statements.days.asked import names_days
from memex.subagent.statements.language import StatementKind
from memex.subagent.statements.subjects import APOSTROPHES
from memex.tables import load_tables

# kind: the statements of the kinds; due: what is due; overdue: what was due before today; days: what is due or
# happens on the days that the question names; new: what was said lately; told: what was said on days that it names;
# person: all that is known, who the person is first.
ListOrder = Literal["kind", "due", "overdue", "days", "new", "told", "person"]
OF_DAYS = frozenset({"days", "told"})  # that ask for a list only if the question names days


@dataclass(frozen=True, slots=True)
class Intent:
    """The list that a question asks for.

    Attributes:
        name: the name of the intent.
        kinds: the kinds of statements that answer.
        is_open: statements of any kind answer that say that something is not settled.
        by: what the list is made by.
        match: finds the intent in a question.
    """

    name: str
    kinds: frozenset[StatementKind]
    is_open: bool
    by: ListOrder
    match: re.Pattern[str]

    @property
    def is_open_ended(self) -> bool:
        """Whether what answers may also stand where no list finds it; a list of days holds all that it can."""
        return self.by in ("kind", "person")


def intent_of(question: str) -> Intent | None:
    """Return the list that a question asks for; None if it asks for no list."""
    plain = " ".join(question.translate(APOSTROPHES).split())
    found = (intent for intent in _load() if intent.match.search(plain))
    return next((intent for intent in found if intent.by not in OF_DAYS or names_days(plain)), None)


@cache
def _load() -> tuple[Intent, ...]:
    data = load_tables("memex.subagent.context", "intents.yaml")
    return tuple(
        Intent(
            row["name"],
            frozenset(row.get("kinds", ())),
            row.get("is_open", False),
            row.get("by", "kind"),
            re.compile("|".join(row["match"]), re.IGNORECASE),
        )
        for row in data["intents"]
    )
