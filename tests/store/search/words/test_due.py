"""Due days are words of the index."""

from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from memex.store.search.analyzer import Analyzer
from memex.store.search.words.due import due_lexemes, due_query

DATES = st.dates(date(1990, 1, 1), date(2100, 1, 1))


@given(DATES, DATES, st.sampled_from(["english", "german", "french", "spanish", "russian"]))
def test_a_query_for_days_finds_what_is_due_then(first: date, due: date, language: str) -> None:
    """And nothing else, for times that are looked for day by day."""
    last = first + timedelta(days=30)
    stored = due_lexemes(f"- Send it. (2026-11-22, due {due}) [[bob]]")
    asked = Analyzer(language).lexemes(due_query(first, last))

    assert (not set(stored).isdisjoint(asked)) == (first <= due <= last)


@given(DATES, DATES)
def test_longer_times_are_looked_for_by_months(first: date, due: date) -> None:
    """What is due in one of the months is found; the caller leaves out the days before and after."""
    last = first + timedelta(days=400)
    months = {f"{day:%Y-%m}" for count in range(401) for day in [first + timedelta(days=count)]}
    stored = due_lexemes(f"- Send it. (2026-11-22, due {due})")

    assert len(due_query(first, last).split()) == len(months)
    assert (not set(stored).isdisjoint(due_query(first, last).split())) == (f"{due:%Y-%m}" in months)


def test_only_stamps_are_due_days() -> None:
    """The words of a text are not."""
    assert due_lexemes("It is due 2026-12-03. (2026-11-22) It is (due 2026-12-03).") == []
