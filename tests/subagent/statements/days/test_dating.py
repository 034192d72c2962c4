"""The days of a statement: the dates beside the days that it names, and when it is due."""

from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from memex.subagent.statements.days.dating import due_day, with_dates, without_dates
from memex.subagent.statements.language import STATEMENT_KINDS, StatementKind

MONDAY = date(2026, 11, 23)
DATED: dict[tuple[StatementKind, str], str] = {
    ("note", "Dentist tomorrow at 9"): "Dentist tomorrow (2026-11-24) at 9",
    ("note", "Zahnarzt morgen um 9"): "Zahnarzt morgen (2026-11-24) um 9",
    ("note", "Dentiste demain à 9 h"): "Dentiste demain (2026-11-24) à 9 h",
    ("note", "Dentista mañana a las 9"): "Dentista mañana (2026-11-24) a las 9",
    ("decision", "We decided yesterday to sell"): "We decided yesterday (2026-11-22) to sell",
    ("note", "We fly in two weeks"): "We fly in two weeks (2026-12-07)",
    ("note", "The meeting will be on Friday"): "The meeting will be on Friday (2026-11-27)",
    ("note", "Holiday next week."): "Holiday next week (2026-11-30 … 2026-12-06).",
}
UNDATED: list[tuple[StatementKind, str]] = [
    ("note", "We met on Friday"),
    ("note", "I lost 5 kg in two weeks"),
    ("note", "Choir is on Thursday"),
    ("note", "Today I feel better"),
    ("note", "Concert on Friday, 4 December"),
    ("note", "Dentist tomorrow (2026-11-24)"),
    ("note", "It is due tomorrow\n- first"),
    ("pending", "Chercher les papiers de mon camion"),
    ("pending", "Mon camion doit aller au garage"),
]
DUE: dict[tuple[StatementKind, str], str | None] = {
    ("pending", "Send the offer by Friday"): "2026-11-27",
    ("pending", "Hand in the return, due 3 Dec"): "2026-12-03",
    ("pending", "Call the dentist tomorrow"): "2026-11-24",
    ("pending", "Call the bank mon at 9"): "2026-11-30",
    ("pending", "Stay with the cat until Friday"): "2026-11-27",
    ("pending", "Den Antrag bis Freitag abgeben"): "2026-11-27",
    ("pending", "rendre le dossier avant le 3 mai"): "2027-05-03",
    ("pending", "enviar el informe antes del viernes"): "2026-11-27",
    ("pending", "Finish the slides next week"): "2026-12-06",
    ("pending", "Write back to Ada"): None,
    ("objective", "Finish the thesis by the end of January"): "2027-01-31",
    ("note", "The deadline for the grant is 5 May"): "2027-05-05",
    ("note", "Bob will send the figures by Friday"): "2026-11-27",
    ("note", "Die Steuer ist bis spätestens 31. Mai fällig"): "2027-05-31",
    ("note", "La fecha límite es el 5 de mayo"): "2027-05-05",
    ("note", "Le loyer est à payer avant le 5 décembre"): "2026-12-05",
    ("note", "I am in Rome until Friday"): None,
    ("note", "By Monday the numbers had doubled"): None,
    ("note", "Dentist tomorrow at 9"): None,
    ("done", "Sent the offer by Friday"): None,
}


def test_a_date_stands_beside_a_day_that_is_counted() -> None:
    """Whoever reads the statement later knows which day was meant."""
    for (kind, text), expected in DATED.items():
        assert with_dates(text, kind, MONDAY) == expected
        assert without_dates(expected) == text


def test_no_date_where_the_day_is_known_or_unsure() -> None:
    """The day of the statement, one with a date, and one that may lie in the past or come again each week."""
    for kind, text in UNDATED:
        assert with_dates(text, kind, MONDAY) == text


def test_the_due_day_is_read() -> None:
    """A task is due on the day that it names, anything else on the day on which it says so."""
    for (kind, text), expected in DUE.items():
        found = due_day(text, kind, MONDAY)
        assert (found and found.isoformat()) == expected, (kind, text)
        assert with_dates(text, kind, MONDAY) == text or expected is None


@given(st.text(max_size=200) | st.sampled_from([text for _, text in DATED]), st.sampled_from(STATEMENT_KINDS))
def test_dates_are_written_once(text: str, kind: StatementKind) -> None:
    """A statement that has its dates gets no more."""
    once = with_dates(text, kind, MONDAY)

    assert with_dates(once, kind, MONDAY) == once
