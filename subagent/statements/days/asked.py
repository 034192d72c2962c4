"""The days that a question asks about, such as `this week`, `by Friday` or `since Monday`. Pure."""

import re
from calendar import monthrange
from datetime import date, datetime, time, timedelta

from memex.store.search.dates import DateRange, parse_days
from memex.subagent.statements.days.mentions import LANGUAGES, DayMention, find_days, last_day, stands_behind

_ANY_DAY = date(2000, 1, 3)
_YEAR = re.compile(r"\d{4}")


def asked_days(question: str, today: date) -> DateRange | None:
    """Return the days that a question asks about, from the first to the last; None if it names none.

    Of `by Friday` or `until Friday`, all days from today on count.
    """
    mentions = find_days(question, today)
    if not mentions:
        return None
    first = min(_first(question, mention, today) for mention in mentions)
    return DateRange(first, max(first, *(last_day(question, mention) for mention in mentions)))


def without_days(question: str) -> str:
    """Return a question without the days that it names."""
    for mention in reversed(find_days(question, _ANY_DAY)):
        question = f"{question[: mention.start]} {question[mention.end :]}"
    return question


def names_days(question: str) -> bool:
    """Return whether a question asks about days."""
    return bool(find_days(question, _ANY_DAY))


def days_before(question: str, today: date) -> DateRange | None:
    """Return the days up to today that a question asks about: `since Monday`, `on 21 November`; None for none."""
    now = datetime.combine(today, time())
    for language in LANGUAGES:
        if days := parse_days(question, now, language):
            return days
    found = [
        days for mention in find_days(question, today) if (days := _in_the_past(question, mention, today))
    ]
    return DateRange(min(found).first, max(days.last for days in found)) if found else None


def _in_the_past(question: str, mention: DayMention, today: date) -> DateRange | None:
    """Return the last such days up to today, of a name that counts from today on; None for days that are ahead."""
    days = mention.days
    if days.first <= today:
        return days
    if mention.is_bare:
        return DateRange(*(day - timedelta(days=7) for day in days))
    if mention.form == "date" and not _YEAR.search(question[mention.start : mention.end]):
        return DateRange(*map(_year_before, days))
    return None


def _year_before(day: date) -> date:
    return day.replace(year=day.year - 1, day=min(day.day, monthrange(day.year - 1, day.month)[1]))


def _first(question: str, mention: DayMention, today: date) -> date:
    is_limit = stands_behind(mention.tables.up_to, question, mention.start)
    return min(today, mention.days.first) if is_limit else mention.days.first
