"""The values in a statement: which there are, where they stand, and which are the same."""

from functools import partial
from inspect import unwrap
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.growth import LINEAR, growth

from memex.subagent.statements.comparison.values import Value, values_of

DATES = {
    "05-12": [
        "12 May 2027",
        "May 12th",
        "12. Mai",
        "le 12 mai",
        "el 12 de mayo",
        "2027-05-12",
        "am 12.05.2027",
    ],
    "03-01": ["1st of March", "Mar 1", "1. März", "le 1er mars", "1 de marzo de 2027", "01.03."],
    "08-30": ["30 August", "Aug. 30", "30. August", "le 30 août", "le 30 aout", "30 de agosto"],
    "12-09": ["Dec 9", "9. Dezember", "le 9 décembre", "9 de diciembre"],
    "01-06": ["6 January", "6. Jan.", "le 6 janvier", "6 de enero"],
}
WEEKDAYS = {
    1: ["Monday", "Mondays", "on Mon", "montags", "lundi", "el lunes"],
    2: ["on Tuesday", "Tues", "Dienstag", "mardi", "los martes"],
    3: ["Wed", "Mittwoch", "le mercredi", "miércoles", "miercoles"],
    4: ["thurs", "am Donnerstag", "jeudis", "el jueves"],
    5: ["Fri", "Freitag", "vendredi", "los viernes"],
    6: ["saturday", "Sonnabend", "Samstags", "samedi", "sábado", "los sábados", "sabado"],
    7: ["Sundays", "Sonntag", "dimanche", "el domingo"],
}
TIMES = {
    "17:30": ["at 5:30 pm", "5.30pm", "at 5.30 pm", "17:30", "um 17.30 Uhr", "à 17h30", "a las 17:30 h"],
    "09:00": ["9 am", "at 9 o'clock", "nine o'clock", "um 9 Uhr", "à 9 heures", "9 a.m."],
    "12:00": ["12 pm", "at noon", "mittags", "à midi"],
    "00:00": ["12 am", "midnight", "minuit", "0:00"],
    "00:20": ["12:20 am", "0:20", "00:20"],
}
MONEY = {
    "1150": ["£1,150", "1.150 €", "1'150 CHF", "EUR 1150.00", "1150 euros", "US$1,150"],
    "12.5": ["12,50 €", "€12.5", "12.50 dollars"],
    "3000": ["£3k", "3 k€", "3,000 quid"],
}
NUMBERS = {
    ("45", "minute"): ["45 minutes", "45 Minuten", "45 min", "45 minutos"],
    ("2", "week"): ["two weeks", "zwei Wochen", "deux semaines", "2 semanas"],
    ("1", "month"): ["1 month", "1 Monat", "1 mois", "1 mes"],
    ("7", "day"): ["seven days", "sieben Tage", "sept jours", "7 días"],
    ("512", "gb"): ["512 GB", "512 gb"],
    ("8", "percent"): ["8 %", "8%", "8 Prozent"],
    ("40", ""): ["40", "40 lanterns"],
}
CODES = [
    *("v4.17.2", "2.0.13", "#4711", "x_1"),
    *("/etc/lamp/main.conf", "~/boats/oar", "ula@buoy.example", "https://a.example/b"),
]
NONE = [
    *("", " ", "We sing.", "Nothing here counts.", "Wir singen gern.", "On chante.", "Cantamos."),
    # Words of another language, or of another sense, that look like a day or a currency.
    *("J'ai vendu mon vélo.", "She sat in the sun.", "I may sing."),
]
HOSTILE = st.text(st.sampled_from("aZéß1٣0.,:-/#@_'’ \n%€£k(ſİıK\u0301🦊")) | st.text()


def only(text: str) -> Value:
    """Return the one value of a text."""
    found = values_of(text)
    assert len(found) == 1, (text, found)
    return found[0]


def test_one_value_has_one_form_in_four_languages() -> None:
    """However it is written; so that a new statement differs from an old one only where it says something else."""
    for form, texts in DATES.items():
        assert {(only(text).kind, only(text).form) for text in texts} == {("date", form)}
    for day, texts in WEEKDAYS.items():
        assert {(only(text).kind, only(text).form) for text in texts} == {("date weekday", f"weekday {day}")}
    for form, texts in TIMES.items():
        assert {(only(text).kind, only(text).form) for text in texts} == {("time", form)}
    for form, texts in MONEY.items():
        assert {(only(text).kind, only(text).form) for text in texts} == {("money", form)}
    for (form, unit), texts in NUMBERS.items():
        assert {(only(text).sort, only(text).form, only(text).unit) for text in texts} == {
            ("number", form, unit)
        }


def test_codes_are_compared_as_written() -> None:
    """Versions, paths, addresses and identifiers are one value each, whatever digits they hold."""
    for code in CODES:
        value = only(f"We take {code} for it")
        assert (value.sort, value.form) == ("code", code)
    # A number that may be a version keeps its last zero.
    assert only("we run 3.10 there").form == "3.10"


def test_a_name_is_no_capital_at_the_head_of_a_sentence() -> None:
    """Several capitals in a row are a name there too."""
    assert values_of("Lanterns are lit. Boats leave.\nOars stay: Nobody rows.") == ()
    assert [value.form for value in values_of("Ottilie Brandt rows with Åsa, and with Ñuño's crew.")] == [
        "ottilie brandt",
        "åsa",
        "ñuño",
    ]
    assert [value.form for value in values_of("He rows." + " " * 60 + "Then we met Wanda.")][-1] == "wanda"


def test_what_holds_no_value() -> None:
    """Possessives and verbs that look like a day, and words that end as a currency does."""
    for text in NONE:
        assert values_of(text) == (), text
    assert only("chez le coiffeur 12").sort == "number"


def test_values_of_a_statement_stand_in_their_order() -> None:
    """Each is found where it stands."""
    text = "On Thursday, 3 June, from 18:30 Ines lends us 2 kg of flour for €4,20, see /pantry/list.md"
    found = values_of(text)

    assert [(value.sort, text[value.start : value.end]) for value in found] == [
        ("date", "Thursday"),
        ("date", "3 June"),
        ("time", "18:30"),
        ("name", "Ines"),
        ("number", "2 kg"),
        ("money", "€4,20"),
        ("code", "/pantry/list.md"),
    ]


@given(HOSTILE)
def test_values_of_any_text_are_disjoint_parts_of_it(text: str) -> None:
    """In their order, none empty; the same text gives the same ones."""
    found = values_of(text)

    assert all(0 <= value.start < value.end <= len(text) for value in found)
    assert all(one.end <= other.start for one, other in pairwise(found))
    assert all(value.form or value.sort == "name" for value in found)
    assert values_of(text) == found


@pytest.mark.parametrize("seed", ["0", "1.", "1,000,", "a1 ", "#", "10:30 ", "A. ", "a@", "-/a", "two "])
def test_finding_values_takes_linear_time(seed: str) -> None:
    """Four times the characters, of anything, take about four times as long."""
    assert growth(lambda size: partial(unwrap(values_of), (seed * size)[:size]), 3_000) < LINEAR


def test_long_text_is_read_whole() -> None:
    """A value is found behind 200,000 characters."""
    text = "é" * 200_000 + " at 17:45"

    assert [(value.form, value.start) for value in values_of(text)] == [("17:45", len(text) - 5)]
