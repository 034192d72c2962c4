"""Due days as words of the index, so that search finds the statements that are due on a day or in a month. Pure.

The stamp of a statement, `(2026-11-22, due 2026-12-03)`, gives its chunk two more lexemes: one for the day and one
for the month. No text holds them, so a search for them finds such statements alone.
"""

import re
from collections.abc import Iterator
from datetime import date, timedelta

_DUE = re.compile(r"\(\d{4}-\d\d-\d\d, due (\d{4})-(\d\d)-(\d\d)\)", re.ASCII)
# Of consonants alone, which no stemmer changes.
_LETTERS = str.maketrans("0123456789", "bcdfghjklm")
_MAX_DAYS = 31  # for a longer time, months are looked for


def due_lexemes(text: str) -> list[str]:
    """Return the lexemes of the due days in a text: a day, and its month, for each."""
    return [
        lexeme
        for match in _DUE.finditer(text)
        for lexeme in (_lexeme("".join(match.groups())), _lexeme("".join(match.groups()[:2])))
    ]


def due_query(first: date, last: date) -> str:
    """Return the query that finds what is due from the first day to the last one: its days, or its months."""
    if (last - first).days < _MAX_DAYS:
        days = ((first + timedelta(days=count)) for count in range((last - first).days + 1))
        return " ".join(_lexeme(f"{day:%Y%m%d}") for day in days)
    return " ".join(_lexeme(month) for month in _months(first, last))


def _months(first: date, last: date) -> Iterator[str]:
    for month in range(first.year * 12 + first.month - 1, last.year * 12 + last.month):
        yield f"{month // 12:04d}{month % 12 + 1:02d}"


def _lexeme(digits: str) -> str:
    return f"xq{digits.translate(_LETTERS)}"
