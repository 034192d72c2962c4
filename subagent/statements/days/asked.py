"""The days that a question asks about, such as `this week`, `by Friday` or `since Monday`. Pure."""

from datetime import date, datetime, time

from memex.store.search.dates import DateRange, parse_days
from memex.subagent.statements.days.mentions import LANGUAGES, DayMention, find_days, last_day, stands_behind

_ANY_DAY = date(2000, 1, 3)


def asked_days(question: str, today: date) -> DateRange | None:
    """Return the days that a question asks about, from the first to the last; None if it names none.

    Of `by Friday` or `until Friday`, all days from today on count.
    """
    mentions = find_days(question, today)
    if not mentions:
        return None
    first = min(_first(question, mention, today) for mention in mentions)
    return DateRange(first, max(first, *(last_day(question, mention) for mention in mentions)))


def names_days(question: str) -> bool:
    """Return whether a question asks about days."""
    return bool(find_days(question, _ANY_DAY))


def days_before(question: str, today: date) -> DateRange | None:
    """Return the days up to today that a question asks about, such as `since Monday`; None if it names none."""
    now = datetime.combine(today, time())
    found = (parse_days(question, now, language) for language in LANGUAGES)
    return next((days for days in found if days is not None), None)


def _first(question: str, mention: DayMention, today: date) -> date:
    is_limit = stands_behind(mention.tables.up_to, question, mention.start)
    return min(today, mention.days.first) if is_limit else mention.days.first
