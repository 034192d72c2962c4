"""The days that a text names, counted from the day on which it was said."""

from datetime import date
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.growth import LINEAR, growth
from tests.kit.property_budget import sampled

from memex.subagent.statements.days import mentions
from memex.subagent.statements.days.mentions import find_days

MONDAY = date(2026, 11, 23)
NAMED = {
    "Dentist tomorrow at 9": "tomorrow 2026-11-24",
    "the day after tomorrow": "the day after tomorrow 2026-11-25",
    "lunch next Friday": "next Friday 2026-12-04",
    "lunch this Friday": "this Friday 2026-11-27",
    "we fly in two weeks": "in two weeks 2026-12-07",
    "end of the month": "end of the month 2026-11-30",
    "next week": "next week 2026-11-30 … 2026-12-06",
    "in two months": "in two months 2027-01",
    "next year": "next year 2027",
    "this weekend": "this weekend 2026-11-28 … 2026-11-29",
    "3 Dec": "3 Dec 2026-12-03",
    "Dec 3rd, 2027": "Dec 3rd, 2027 2027-12-03",
    "5 May": "5 May 2027-05-05",
    "the MOT is on Monday 30 November at 8": "Monday 30 November 2026-11-30",
    "am Montag, den 30. November": "Montag, den 30. November 2026-11-30",
    "What is due before December?": "December 2026-12",
    "2026-12-03": "2026-12-03 2026-12-03",
    "Morgen Zahnarzt um 9": "Morgen 2026-11-24",
    "Wir sehen uns übermorgen": "übermorgen 2026-11-25",
    "nächsten Freitag": "nächsten Freitag 2026-11-27",
    "bis zum 3.12.": "3.12. 2026-12-03",
    "in den nächsten zwei Wochen": "in den nächsten zwei Wochen 2026-11-23 … 2026-12-07",
    "Ende Januar": "Ende Januar 2027-01-31",
    "demain chez le dentiste": "demain 2026-11-24",
    "vendredi prochain": "vendredi prochain 2026-11-27",
    "avant le 3 mai": "3 mai 2027-05-03",
    "la semaine prochaine": "la semaine prochaine 2026-11-30 … 2026-12-06",
    "mañana a las 9": "mañana 2026-11-24",
    "pasado mañana": "pasado mañana 2026-11-25",
    "antes del viernes": "viernes 2026-11-27",
    "a fin de mes": "a fin de mes 2026-11-30",
    "el 5 de mayo de 2028": "5 de mayo de 2028 2028-05-05",
}
UNNAMED = [
    *(
        "",
        "every Friday",
        "7,000 steps a day from now on",
        "on Fridays",
        "in a few weeks",
        "Good Friday",
        "`tomorrow`",
        "I may go",
        "31 February",
    ),
    *(
        "Guten Morgen allerseits",
        "am Morgen",
        "jeden Freitag",
        "tous les mardis",
        "le lundi",
        "por la mañana",
    ),
    "todos los viernes",
]


def test_days_are_counted_from_the_day_of_the_text() -> None:
    """In four languages, with the year where it is named and the next such day where it is not."""
    for text, expected in NAMED.items():
        found = [f"{text[one.start : one.end]} {one.written}" for one in find_days(text, MONDAY)]
        assert found == [expected], text


def test_what_names_no_single_day_is_left_alone() -> None:
    """Repeated days, vague numbers, code, and words that are no days."""
    for text in UNNAMED:
        assert find_days(text, MONDAY) == [], text


DAYS = st.lists(st.sampled_from([*NAMED, *UNNAMED, "999 years ago", "in 999 years", "0", "\n"])).map(" ".join)


@given(st.text() | DAYS, st.dates())
def test_any_text_on_any_day_may_name_days(text: str, day: date) -> None:
    """They stand in order, and do not overlap."""
    found = find_days(text, day)

    assert all(one.end <= other.start for one, other in pairwise(found))
    assert all(one.days.first <= one.days.last for one in found)


@pytest.mark.parametrize(
    "seed", sampled(["tomorrow ", "by the 3 ", "in two ", "la fin de ", " ", "deadline ", "1.1.", "`"], 3)
)
def test_finding_days_takes_linear_time(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of texts that are longer than those in which days are looked for."""
    monkeypatch.setattr(mentions, "MAX_CHARS", 10_000_000)
    assert growth(lambda size: partial(find_days, (seed * size)[:size], MONDAY), 10_000) < LINEAR
