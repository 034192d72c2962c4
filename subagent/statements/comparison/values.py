"""The values in a statement: what may differ when a newer statement says the same of the same thing. Pure.

A value has a sort: `time` of day, `date`, `money`, `number` with its unit, `code` (a version, a path, an
identifier), or `name`. Two statements that give one thing different values of one kind contradict each other.
The patterns are in `values.yaml`.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from memex.subagent.statements.rule_table import fill_named
from memex.subagent.text_cache import cached_for_short_texts
from memex.tables import load_tables

Sort = Literal["time", "date", "money", "number", "code", "name"]

_NAME = re.compile(r"(?<![\w'’-])[A-ZÀ-ÖØ-Þ][\w&'’.-]*\w(?:[ -][A-ZÀ-ÖØ-Þ][\w&'’-]*\w)*")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;–—]\s+|\n)[\"'“‘(*_\s-]*$")
_LOOK_BEHIND_CHARS = 40  # in which the end of the sentence before a name is looked for
_THOUSANDS = re.compile(r"(?<=\d)[,.' ](?=\d{3}(?!\d))")
_AMOUNT = re.compile(r"\d+(?:[.,]\d+)?")
_THOUSAND = re.compile(r"\d ?k\b")
_LIMITED = re.compile(r"\b(?:until|till|from (?=\d|the \d)|starting|during|while)\b", re.IGNORECASE)
_ISO_DAY = re.compile(r"\d{4}-(\d\d-\d\d)")


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a statement.

    Attributes:
        sort: what it is.
        form: the form by which it is compared.
        unit: such as `hour`; only values of one sort and unit take each other's place.
        start: where it begins in the statement.
        end: where it ends.
        lexemes: its words, as search has them.
    """

    sort: Sort
    form: str
    unit: str
    start: int
    end: int
    lexemes: frozenset[str] = frozenset()

    @property
    def kind(self) -> str:
        """The sort with the unit."""
        return f"{self.sort} {self.unit}" if self.unit else self.sort


def says_more(older: str, new: str) -> bool:
    """Tell whether a statement has a day, a time, an amount or a code of a kind of which a new one says nothing."""
    kinds = {value.kind for value in values_of(new)}
    return any(value.sort != "name" and value.kind not in kinds for value in values_of(older))


@cached_for_short_texts(entries=8_192)
def values_of(text: str) -> tuple[Value, ...]:
    """Return the values of a statement in their order; none of them overlap."""
    found: list[Value] = []
    taken = bytearray(len(text))

    def take(value: Value, match: re.Match[str]) -> None:
        if value.start < value.end and not any(taken[match.start() : match.end()]):
            found.append(value)
            taken[value.start : value.end] = b"\1" * (value.end - value.start)

    for sort, pattern in _load().patterns:
        for match in pattern.finditer(text):
            take(_value(sort, match), match)
    for match in _NAME.finditer(text):
        # Every sentence begins with a capital.
        before = max(0, match.start() - _LOOK_BEHIND_CHARS)
        if " " in match[0] or not _SENTENCE_START.search(text, before, match.start()):
            take(Value("name", _fold(match[0]), "", *match.span()), match)
    return tuple(sorted(found, key=lambda value: value.start))


def may_take_place(newer: str, older: str) -> bool:
    """Tell whether a statement may stand for one with the same key: `The meeting is at 10` leaves its day alone.

    Both hold if their values are of two sorts, or if one of them says from when or until when it holds.
    """
    if _LIMITED.search(newer) or _LIMITED.search(older):
        return False
    sorts = [{value.sort for value in values_of(text) if value.sort != "name"} for text in (newer, older)]
    return not all(sorts) or not sorts[0].isdisjoint(sorts[1])


@dataclass(frozen=True, slots=True)
class _Tables:
    """The tables of `values.yaml`."""

    months: Mapping[str, int]
    weekdays: Mapping[str, int]
    number_words: Mapping[str, str]
    units: Mapping[str, str]
    patterns: Sequence[tuple[Sort, re.Pattern[str]]]


@cache
def _load() -> _Tables:
    data = load_tables("memex.subagent.statements.comparison", "values.yaml")
    fragments = data["fragments"] | {"number_word": "|".join(data["number_words"])}

    return _Tables(
        data["months"],
        data["weekdays"],
        data["number_words"],
        data["units"],
        [
            (row["sort"], re.compile(fill_named(row["match"], fragments), re.IGNORECASE))
            for row in data["patterns"]
        ],
    )


def _value(sort: Sort, match: re.Match[str]) -> Value:
    """Return the value that a pattern found."""
    groups = {name.rstrip("0123456789"): found for name, found in match.groupdict().items() if found}
    text = _fold(match[0])
    match sort:
        case "date":
            form, unit = _date_form(groups, text), "weekday" if "weekday" in groups else ""
        case "time":
            form, unit = _time_form(groups, text), ""
        case "number":
            form, unit = _amount(text), _load().units.get(_fold(groups.get("unit", "")), "")
        case "money":
            amount = _amount(text)
            form, unit = (amount.rstrip("0").rstrip(".") if "." in amount else amount), ""
        case _:
            form, unit = text, ""
    end = match.end()
    if sort == "number" and not unit and "unit" in groups:  # a word that is no unit
        end = match.start() + len(match[0].removesuffix(groups["unit"]).rstrip())
    return Value(sort, form, unit, match.start(), end)


def _amount(text: str) -> str:
    """Return a number as digits: `1,150` and `1.150` give 1150, `2k` gives 2000, `two` gives 2."""
    found = _AMOUNT.search(_THOUSANDS.sub("", text))
    if found is None:
        words = _load().number_words
        return next((digits for word, digits in words.items() if text.startswith(word)), text)
    amount = found[0].replace(",", ".")
    return f"{float(amount) * 1_000:g}" if _THOUSAND.search(text) else amount


def _date_form(groups: Mapping[str, str], text: str) -> str:
    """Return a date as `05-31`, a month as `05`, and a weekday as `weekday 1` for Monday."""
    if weekday := groups.get("weekday"):
        day, weekdays = _fold(weekday).rstrip("s"), _load().weekdays
        return f"weekday {weekdays.get(day) or weekdays.get(f'{day}s') or weekdays.get(day[:3], 0)}"
    if month := groups.get("month"):
        return f"{_month(month):02d}"
    if iso := _ISO_DAY.fullmatch(text):
        return iso[1]
    month, day = groups.get("m", ""), groups.get("d", "0")
    return f"{int(month) if month.isdecimal() else _month(month):02d}-{int(day):02d}"


def _month(name: str) -> int:
    fitting = [start for start in _load().months if name.casefold().startswith(start)]
    return _load().months[max(fitting, key=len)] if fitting else 0


def _time_form(groups: Mapping[str, str], text: str) -> str:
    """Return a time of day as `14:30`."""
    hour = groups.get("h") or _load().number_words.get(groups.get("word", "").casefold())
    if hour is None:
        return "00:00" if text in ("midnight", "minuit") else "12:00"
    half = groups.get("ap", "").casefold()
    of_day = int(hour) % 12 + 12 * (half == "p") if half and int(hour) <= 12 else int(hour)
    return f"{of_day:02d}:{groups.get('min', '00')}"


def _fold(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().replace("’", "'").split()).removesuffix(
        "'s"
    )
