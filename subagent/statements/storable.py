"""The parts of a text that are stored: statements with dates beside days, none that names a secret. Pure."""

from dataclasses import replace
from datetime import date

from memex.errors import LimitExceeded
from memex.subagent.statements.days.dating import with_dates
from memex.subagent.statements.extraction import Extraction, SkippedSpan, extract_statements
from memex.subagent.statements.secrets.statement import holds_secret

MAX_STATEMENTS = 10_000  # of one text; the longest one that a person writes has some 4,000
MAX_LINES = 40_000  # of one text; each can be a statement


def extract_storable(text: str, day: date | None) -> Extraction:
    """Return what a text holds, as of the day on which it was said; without a day, no dates are put beside days.

    Raises:
        LimitExceeded: the text has more lines or statements than one call remembers.
    """
    _check(text.count("\n") + text.count("\r"), MAX_LINES, "lines")
    reading = extract_statements(text)
    _check(len(reading.statements), MAX_STATEMENTS, "statements")
    secret = {place for place, statement in enumerate(reading.statements) if holds_secret(statement.text)}
    withheld = (
        SkippedSpan(statement.start, statement.end, "secret")
        for place, statement in enumerate(reading.statements)
        if place in secret
    )
    skipped = sorted((*reading.skipped, *withheld), key=lambda skip: skip.start)
    dated = (
        statement if day is None else replace(statement, text=with_dates(statement.text, statement.kind, day))
        for place, statement in enumerate(reading.statements)
        if place not in secret
    )
    return Extraction(tuple(dated), tuple(skipped))


def _check(found: int, limit: int, what: str) -> None:
    if found > limit:
        raise LimitExceeded(
            f"The text has {found:,} {what}, and {limit:,} are remembered at once.",
            hint="Send it in several parts, or store it as a file with memory_write.",
            limit=limit,
        )
