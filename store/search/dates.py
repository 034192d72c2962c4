"""The days that a query names relative to today, as in `last week`. Pure; by the tables of `calendars/`."""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from memex.tables import parse_tables

_DAYS_OF = {"day": 1, "week": 7}
_MONTHS_OF = {"month": 1, "year": 12}
LANGUAGES = ("english", "german", "french", "spanish", "russian")

_MAX_DATED_CHARS = 2_000  # of a query in which days are looked for
_NUMERIC_DAY = re.compile(r"(?<![\d.])(\d{1,2})([./])(\d{1,2})\2((?:19|20)\d\d)(?!\d)", re.ASCII)
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)", re.ASCII)


class DateRange(NamedTuple):
    """Days from the first to the last, both counted."""

    first: date
    last: date

    def __str__(self) -> str:
        return f"{self.first} … {self.last}"


@dataclass(frozen=True, slots=True)
class DateRule:
    """A pattern, and what it names: `calendars/english.yaml` says what the kinds are."""

    match: re.Pattern[str]
    kind: str
    days: int
    since: bool


@dataclass(frozen=True, slots=True)
class Calendar:
    """The tables of one language; those of words hold patterns, with what each stands for."""

    numbers: Mapping[str, int]
    units: Mapping[str, str]
    weekdays: Mapping[str, int]
    months: Mapping[str, int]
    rules: tuple[DateRule, ...]


def parse_days(query: str, now: datetime, language: str = "english") -> DateRange | None:
    """Return the days that a query speaks of relative to `now`, None when it names none.

    Weeks begin on Monday. What lies back years reaches up to today: it is told for years after. Several times are
    taken together, from the first to the last. A query that names a year counts from there, and not from today.

    Args:
        query: what is looked for.
        now: its day, in its own zone, is today.
        language: the language of the query; without tables for it, no time is found.
    """
    calendar = load_calendar(language)
    if calendar is None:
        return None
    text = " ".join(unicodedata.normalize("NFC", query).split())
    if _YEAR.search(text):
        return None
    found: list[DateRange] = []
    read_up_to = 0
    matches = [(match, rule) for rule in calendar.rules for match in rule.match.finditer(text)]
    # The order is stable: of several rules that fit at a place the first one counts.
    for match, rule in sorted(matches, key=lambda pair: pair[0].start()):
        if match.start() >= read_up_to:
            try:
                found.append(_range(match, rule, calendar, now.date()))
            except (OverflowError, ValueError):  # before the year 1
                continue
            read_up_to = match.end()
    if not found:
        return None
    return DateRange(min(days.first for days in found), max(days.last for days in found))


def with_iso_days(query: str, languages: Collection[str]) -> str:
    """Return a query with each day that search would not know as one, such as `9.3.2021`, also as `2021-03-09`.

    Search knows a day with the name of its month in a language of memory, and one as ISO 8601 writes it.
    """
    if len(query) > _MAX_DATED_CHARS:
        return query
    days = dict.fromkeys(filter(None, (*_numeric_days(query), *_foreign_days(query, languages))))
    return " ".join([query, *days]) if days else query


def _foreign_days(query: str, languages: Collection[str]) -> Iterator[str | None]:
    """Yield the days with names of months in other languages than those."""
    own = [match.span() for language in languages for match in _dates_in(query, language)]
    for language in LANGUAGES:
        for match in () if language in languages else _dates_in(query, language):
            if not any(start < match.end() and match.start() < end for start, end in own):
                yield _iso_day(match["year"], _month_in(match, language), match["day"])


def _numeric_days(query: str) -> Iterator[str | None]:
    """Yield days in numbers, the day before the month, unless only the other order gives a day."""
    for match in _NUMERIC_DAY.finditer(query):
        yield _iso_day(match[4], int(match[3]), match[1]) or _iso_day(match[4], int(match[1]), match[3])


def _dates_in(query: str, language: str) -> Iterator[re.Match[str]]:
    pattern = _date_pattern(language)
    return pattern.finditer(query) if pattern else iter(())


def _month_in(match: re.Match[str], language: str) -> int:
    calendar = load_calendar(language)
    return int(look_up(match["month"], calendar.months)) if calendar else 0


def _iso_day(year: str, month: int, day: str) -> str | None:
    try:
        return date(int(year), month, int(day)).isoformat()
    except ValueError:
        return None


def _range(match: re.Match[str], rule: DateRule, calendar: Calendar, today: date) -> DateRange:
    words = {name.rstrip("0123456789"): word for name, word in match.groupdict().items() if word}
    number = _number(words["number"], calendar) if "number" in words else 1
    unit = look_up(words["unit"], calendar.units) if "unit" in words else "day"
    match rule.kind:
        case "day":
            days = calendar_unit("day", today - timedelta(days=rule.days))
        case "ago":
            days = calendar_unit(unit, subtract_units(today, number, unit))
        case "past":
            days = DateRange(subtract_units(today, number, unit), today)
        case "previous":
            days = calendar_unit(unit, subtract_units(today, 1, unit))
        case "current":
            days = calendar_unit(unit, today)
        case "weekday":
            weekday = look_up(words["weekday"], calendar.weekdays)
            days = calendar_unit("day", today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1))
        case _:
            month = look_up(words["month"], calendar.months)
            this_year = month < today.month if rule.kind == "ended" else month <= today.month
            days = calendar_unit("month", date(today.year - (not this_year), month, 1))
    reaches_up = rule.since or (unit == "year" and rule.kind in ("ago", "previous"))
    return DateRange(days.first, today) if reaches_up else days


def subtract_units(day: date, number: int, unit: str) -> date:
    """Return the day so many units before; at the end of a shorter month its last one."""
    if unit in _DAYS_OF:
        return day - timedelta(days=number * _DAYS_OF[unit])
    months = day.year * 12 + day.month - 1 - number * _MONTHS_OF[unit]
    first = date(months // 12, months % 12 + 1, 1)
    return min(first + timedelta(days=day.day - 1), calendar_unit("month", first).last)


def calendar_unit(unit: str, day: date) -> DateRange:
    """Return the calendar unit that a day lies in."""
    if unit == "week":
        first = day - timedelta(days=day.weekday())
        return DateRange(first, first + timedelta(days=6))
    if unit == "month":
        first = day.replace(day=1)
        return DateRange(first, (first + timedelta(days=31)).replace(day=1) - timedelta(days=1))
    if unit == "year":
        return DateRange(day.replace(month=1, day=1), day.replace(month=12, day=31))
    return DateRange(day, day)


def _number(word: str, calendar: Calendar) -> int:
    return int(word) if word.isdecimal() else look_up(word, calendar.numbers)


def look_up(word: str, table: Mapping[str, Any]) -> Any:
    """Return what the pattern stands for that a word fits."""
    return next(value for pattern, value in table.items() if re.fullmatch(pattern, word, re.IGNORECASE))


@cache
def _date_pattern(language: str) -> re.Pattern[str] | None:
    """Return what finds a day with the name of its month and its year; None for a language without tables."""
    calendar = load_calendar(language)
    if calendar is None:
        return None
    months = "|".join(calendar.months)
    return re.compile(
        rf"(?<!\w)(?P<day>\d{{1,2}})(?:\.|er|st|nd|rd|th)? (?:de |of )?(?P<month>{months})\.?,? (?:de |del )?"
        r"(?P<year>(?:19|20)\d\d)(?!\w)",
        re.IGNORECASE,
    )


@cache
def load_calendar(language: str) -> Calendar | None:
    """Return the tables of a language by the name of its stemmer, None when there are none."""
    file = files("memex.store.search") / "calendars" / f"{language}.yaml"
    if not file.is_file():
        return None
    tables = parse_tables(file.read_text(encoding="utf-8"))
    weekdays = {pattern: place for place, pattern in enumerate(tables["weekdays"])}
    months = {pattern: place for place, pattern in enumerate(tables["months"], start=1)}
    units = {pattern: unit for unit, pattern in tables["units"].items()}
    filled = pattern_compiler(
        {
            "number": [r"[0-9]{1,3}", *tables["numbers"]],
            "unit": units,
            "weekday": weekdays,
            "month": [rf"(?:{'|'.join(months)})(?!\.?,? (?:of )?[0-9])"],
        }
    )
    rules = (
        DateRule(filled(row["match"]), row["is"], row.get("days", 0), row.get("since", False))
        for row in tables["rules"]
    )
    return Calendar(tables["numbers"], units, weekdays, months, tuple(rules))


def pattern_compiler(words: Mapping[str, Any]) -> Callable[[str], re.Pattern[str]]:
    """Return what compiles a pattern with `{…}` for words; where one stands twice its groups are numbered."""

    def filled(pattern: str) -> re.Pattern[str]:
        count = 0

        def group(match: re.Match[str]) -> str:
            nonlocal count
            count += 1
            return f"(?P<{match[1]}{count}>{'|'.join(words[match[1]])})"

        return re.compile(rf"(?<!\w)(?:{re.sub(r'{([a-z]+)}', group, pattern)})(?!\w)", re.IGNORECASE)

    return filled
