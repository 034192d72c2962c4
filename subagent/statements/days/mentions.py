"""The days that a text names, counted from the day on which it was said. Pure; by the tables of `calendars/`."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from typing import Any, Literal

from memex.store.search.dates import (
    Calendar,
    DateRange,
    calendar_unit,
    load_calendar,
    look_up,
    pattern_compiler,
    subtract_units,
)
from memex.tables import load_tables

LANGUAGES = ("english", "german", "french", "spanish")
MAX_CHARS = 2_000  # of a text in which days are looked for
MAX_PAST_DAYS = 60  # a day without a year that lies back longer is the next one
SHORT_WEEKDAY = 3  # letters of a weekday's short name
LOOK_BEHIND = 60  # characters before a day in which words that belong to it are looked for

DayForm = Literal["relative", "weekday", "date"]

_ISO = re.compile(r"(?<![\w-])((?:19|20)\d\d)-(\d\d)-(\d\d)(?![\w-])", re.ASCII)
_CODE = re.compile(r"`[^`\n]*`|```.*", re.DOTALL)
_DAY_OF_MONTH = r"0?[1-9]|[12][0-9]|3[01]"


@dataclass(frozen=True, slots=True)
class DayTables:
    """The patterns of one language; `calendars/english.yaml` says what each holds."""

    calendar: Calendar
    any_day: re.Pattern[str]  # finds a place if one of the rules does, in less than half the time
    days: tuple["DayRule", ...]
    vague: re.Pattern[str]
    not_behind: re.Pattern[str]
    due: re.Pattern[str]
    due_noun: re.Pattern[str]
    due_behind: re.Pattern[str]
    until: re.Pattern[str]
    up_to: re.Pattern[str]
    before: re.Pattern[str]
    future: re.Pattern[str]
    past: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class DayRule:
    """A pattern that names days, and how they are counted."""

    match: re.Pattern[str]
    kind: str
    days: int
    is_bare: bool


@dataclass(frozen=True, slots=True)
class DayMention:
    """Days that a text names.

    Attributes:
        start: where the name begins.
        end: where it ends.
        days: the days.
        unit: what the name is exact to: day, week, month or year.
        form: a date, the name of a weekday, or another time counted from the day on which it was said.
        is_bare: a weekday alone, which may be any such day.
        tables: those of its language.
    """

    start: int
    end: int
    days: DateRange
    unit: str
    form: DayForm
    is_bare: bool
    tables: DayTables

    @property
    def written(self) -> str:
        """The days as they are written beside their name."""
        first = self.days.first.isoformat()
        if self.days.first == self.days.last:
            return first
        return {"month": first[:7], "year": first[:4]}.get(self.unit, str(self.days))


def find_days(text: str, day: date) -> list[DayMention]:
    """Return the days that a text names, in their order, for a text that was said on `day`; none overlap."""
    if len(text) > MAX_CHARS:
        return []
    masked = _CODE.sub(lambda match: " " * len(match[0]), text)
    found = sorted(
        _candidates(masked, day), key=lambda candidate: (candidate.start, candidate.start - candidate.end)
    )
    mentions: list[DayMention] = []
    for mention in found:
        if not mentions or mention.start >= mentions[-1].end:
            mentions.append(mention)
    return mentions


def names_weekday(text: str, day: date, weekday: int) -> bool:
    """Return whether a text names a weekday, from 0 for Monday, without saying which one: `choir on Thursdays`."""
    for mention in reversed(find_days(text, day)):
        text = text if mention.is_bare else f"{text[: mention.start]} {text[mention.end :]}"
    return any(_is_weekday(text, match) for match in _weekday_patterns()[weekday].finditer(text))


def _is_weekday(text: str, match: re.Match[str]) -> bool:
    """Return whether a name is no word that only looks like a short one: `mon cours`, `I sat`."""
    is_long = len(match[0]) > SHORT_WEEKDAY
    return is_long or (match[0][0].isupper() and not text[match.end() : match.end() + 2].strip().islower())


def last_day(text: str, mention: DayMention) -> date:
    """Return the last of the days that a name means where it stands: `before next month` ends this month."""
    is_before = stands_behind(mention.tables.before, text, mention.start)
    if is_before and mention.days.first < mention.days.last:
        return mention.days.first - timedelta(days=1)
    return mention.days.last


def stands_behind(pattern: re.Pattern[str], text: str, start: int) -> bool:
    """Return whether the words that a pattern finds end where a name begins."""
    return pattern.search(text[max(0, start - LOOK_BEHIND) : start]) is not None


def _candidates(text: str, day: date) -> Iterator[DayMention]:
    for match in _ISO.finditer(text):
        try:
            named = date(int(match[1]), int(match[2]), int(match[3]))
        except ValueError:
            continue
        yield DayMention(
            *match.span(), DateRange(named, named), "day", "date", is_bare=False, tables=_load()["english"]
        )
    for tables in _load().values():
        yield from _of_language(text, day, tables)


def _of_language(text: str, day: date, tables: DayTables) -> Iterator[DayMention]:
    if tables.any_day.search(text) is None:
        return
    read_up_to = 0
    matches = [(match, rule) for rule in tables.days for match in rule.match.finditer(text)]
    # The order is stable: of several rules that fit at a place the first one counts.
    for match, rule in sorted(matches, key=lambda pair: pair[0].start()):
        if match.start() < read_up_to or (mention := _mention(match, rule, tables, day)) is None:
            continue
        read_up_to = match.end()
        if mention.form == "date" or not stands_behind(tables.not_behind, text, match.start()):
            yield mention


def _mention(match: re.Match[str], rule: DayRule, tables: DayTables, day: date) -> DayMention | None:
    """Return the days that a match names; None if there is no such day, or if it is too vague."""
    words = {name.rstrip("0123456789"): word for name, word in match.groupdict().items() if word}
    if tables.vague.search(words.get("number", "")):
        return None
    unit = look_up(words["unit"], tables.calendar.units) if "unit" in words else "day"
    unit = "month" if rule.kind == "month" else unit
    try:
        days = _days(rule, words, unit, tables.calendar, day)
    except (OverflowError, ValueError):
        return None
    form: DayForm = "date" if rule.kind in ("date", "month") else "weekday" if rule.is_bare else "relative"
    return DayMention(*match.span(), days, unit, form, rule.is_bare, tables)


def _days(rule: DayRule, words: Mapping[str, str], unit: str, calendar: Calendar, day: date) -> DateRange:
    match rule.kind:
        case "day":
            return calendar_unit("day", day + timedelta(days=rule.days))
        case "ahead" | "ago" | "coming":
            return _counted(rule.kind, _number(words["number"], calendar), unit, day)
        case "next" | "current" | "previous" | "end" | "end_next":
            return _of_unit(rule.kind, unit, day)
        case "weekday" | "weekday_after" | "weekday_before":
            return _weekday(rule, look_up(words["weekday"], calendar.weekdays), day)
        case "weekend" | "weekend_next":
            monday = calendar_unit("week", day).first + timedelta(days=7 * (rule.kind == "weekend_next"))
            return DateRange(monday + timedelta(days=5), monday + timedelta(days=6))
        case "month" | "end_month":
            month = _month(look_up(words["month"], calendar.months), day)
            return calendar_unit("day", month.last) if rule.kind == "end_month" else month
        case _:
            return calendar_unit("day", _date(words, calendar, day))


def _counted(kind: str, number: int, unit: str, day: date) -> DateRange:
    there = subtract_units(day, number if kind == "ago" else -number, unit)
    if kind == "coming":
        return DateRange(day, there)
    return calendar_unit(unit if unit in ("month", "year") else "day", there)


def _of_unit(kind: str, unit: str, day: date) -> DateRange:
    count = {"next": -1, "end_next": -1, "previous": 1}.get(kind, 0)
    days = calendar_unit(unit, subtract_units(calendar_unit(unit, day).first, count, unit))
    return calendar_unit("day", days.last) if kind.startswith("end") else days


def _weekday(rule: DayRule, weekday: int, day: date) -> DateRange:
    if rule.kind == "weekday_before":
        there = day - timedelta(days=(day.weekday() - weekday - 1) % 7 + 1)
    elif rule.kind == "weekday_after":
        there = calendar_unit("week", day).first + timedelta(days=7 + weekday)
    else:
        there = day + timedelta(days=(weekday - day.weekday() - 1) % 7 + 1)
    return calendar_unit("day", there)


def _month(month: int, day: date) -> DateRange:
    return calendar_unit("month", date(day.year + (month < day.month), month, 1))


def _date(words: Mapping[str, str], calendar: Calendar, day: date) -> date:
    """Return the day of a month: of the year that is named, or the next one that is not long past."""
    month = look_up(words["month"], calendar.months) if "month" in words else int(words["monthno"])
    if "year" in words:
        return date(int(words["year"]), month, int(words["day"]))
    named = date(day.year, month, int(words["day"]))
    is_long_past = (day - named).days > MAX_PAST_DAYS
    return named.replace(year=day.year + 1) if is_long_past else named


def _number(word: str, calendar: Calendar) -> int:
    return int(word) if word.isdecimal() else int(look_up(word, calendar.numbers))


@cache
def _weekday_patterns() -> list[re.Pattern[str]]:
    """Return what finds each weekday in any language, alone or as one that comes again."""
    names = [list(tables.calendar.weekdays) for tables in _load().values()]
    return [
        re.compile(rf"(?<!\w)(?:{'|'.join(patterns)})s?(?!\w)", re.IGNORECASE)
        for patterns in zip(*names, strict=True)
    ]


@cache
def _load() -> dict[str, DayTables]:
    return {language: _load_language(language) for language in LANGUAGES}


def _load_language(language: str) -> DayTables:
    calendar = load_calendar(language)
    assert calendar is not None  # noqa: S101  # each language here has one
    tables: dict[str, Any] = load_tables("memex.subagent.statements.days", "calendars", f"{language}.yaml")
    filled = pattern_compiler(
        {
            "number": [r"[0-9]{1,3}", *calendar.numbers],
            "unit": calendar.units,
            "weekday": calendar.weekdays,
            "month": calendar.months,
            "day": [_DAY_OF_MONTH],
            "monthno": [r"0?[1-9]|1[0-2]"],
            "year": [r"(?:19|20)[0-9]{2}"],
        }
    )
    return DayTables(
        calendar,
        filled("|".join(f"(?:{row['match']})" for row in tables["days"])),
        tuple(
            DayRule(filled(row["match"]), row["is"], row.get("days", 0), row.get("is_bare", False))
            for row in tables["days"]
        ),
        re.compile(tables["vague"], re.IGNORECASE),
        re.compile(rf"(?<!\w)(?:{tables['not_behind']})\Z", re.IGNORECASE),
        re.compile(rf"(?<!\w)(?:{tables['due']}) ?\(?\Z", re.IGNORECASE),
        re.compile(rf"(?<!\w)(?:{tables['due_noun']}) ?\Z", re.IGNORECASE),
        re.compile(rf"[ ,(]*(?:{tables['due_behind']})(?!\w)", re.IGNORECASE),
        re.compile(rf"(?<!\w)(?:{tables['until']}) ?\Z", re.IGNORECASE),
        re.compile(rf"(?<!\w)(?:{tables['up_to']}) ?\Z", re.IGNORECASE),
        re.compile(rf"(?<!\w)(?:{tables['before']}) ?\Z", re.IGNORECASE),
        re.compile(rf"(?<!\w)(?:{tables['future']})(?!\w)", re.IGNORECASE),
        re.compile(rf"(?<!\w)(?:{tables['past']})(?!\w)", re.IGNORECASE),
    )
