"""The days that a question asks about, such as `this week`, `by Friday` or `since Monday`. Pure."""

import re
from calendar import monthrange
from dataclasses import replace
from datetime import date, datetime, time, timedelta

from memex.store.search.dates import DateRange, parse_days
from memex.subagent.statements.days.mentions import (
    LANGUAGES,
    LOOK_BEHIND,
    DayMention,
    find_days,
    last_day,
    stands_behind,
)

_ANY_DAY = date(2000, 1, 3)
_YEAR = re.compile(r"\d{4}")
_SINCE = re.compile(r"\b(?:since|from|seit|depuis|dès|desde)(?: the| dem| le| el)?\s*$", re.IGNORECASE)
_FIRST_OF_TWO = re.compile(  # the `26 to` of `26 to 29 November`
    r"(?<![\d.,])(?P<day>0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th|\.)?\s?(?:to|and|until|till|through|bis|und|au|et|al|y|[-–])"
    r"\s?(?:the |zum |den |le |el )?$",
    re.IGNORECASE,
)


def asked_days(question: str, today: date) -> DateRange | None:
    """Return the days that a question asks about, from the first to the last; None if it names none.

    Of `by Friday` or `until Friday`, all days from today on count.
    """
    mentions = _find_days(question, today)
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
    mentions = _find_days(question, today)
    found = [days for mention in mentions if (days := _in_the_past(question, mention, today))]
    if not found:
        return None
    *_, mention = mentions
    is_one = mention.days.first == mention.days.last
    is_since = is_one and stands_behind(_SINCE, question, mention.start)
    last = today if is_since else max(days.last for days in found)
    return DateRange(min(found).first, last)


def _find_days(question: str, today: date) -> list[DayMention]:
    """Return the days that a question names; `26 to 29 November` names four."""
    mentions = find_days(question, today)
    for place, mention in enumerate(mentions):
        before = question[max(0, mention.start - LOOK_BEHIND) : mention.start]
        two = _FIRST_OF_TWO.search(before) if mention.form == "date" and mention.unit == "day" else None
        if two is not None and int(two["day"]) < mention.days.first.day:
            days = DateRange(mention.days.first.replace(day=int(two["day"])), mention.days.last)
            mentions[place] = replace(mention, start=mention.start - len(two[0]), days=days)
    return mentions


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
