"""Two statements that are the same but for one value: one thing with a new value, or two that both hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memex.subagent.statements.comparison.frames import MAX_CHARS, are_of_other_numbers, common_frame

NEW_VALUES = [
    ("The greenhouse is heated to 14 degrees.", "The greenhouse is heated to 17 degrees."),
    ("Ferry ticket: 12 euros", "Ferry ticket: 15 euros"),
    ("The audit is on 3 June at 9:00.", "The audit is on 10 June at 14:30."),
    ("The parser runs on port 7001.", "The parser runs on port 7113."),
    ("We use Kotlin for the importer.", "We use Scala for the importer."),
    ("Our archive lives in Ghent.", "Our archive lives in Namur."),
    ("Wilma leads the brass band.", "Egon leads the brass band."),
    ("My rent is 900 euros.", "The user's rent is 950 euros."),
    ("Our vet is Dr. Abara.", "Our vet is Dr. Lenz."),
    ("Die Fähre fährt um 7:15 Uhr.", "Die Fähre fährt um 8:45 Uhr."),
    ("Le loyer est de 700 euros.", "Le loyer est de 740 euros."),
    ("La tienda abre a las nueve.", "La tienda abre a las diez."),
]
BOTH_HOLD = [
    ("I am allergic to kiwi.", "I am allergic to celery."),
    ("My son is called Ole.", "My son is called Finn."),
    ("We use Kotlin.", "We use Scala."),
    ("The stage port is 7001.", "The live port is 7113."),
    ("The shop in Ghent has 4 rooms.", "The shop in Namur has 7 rooms."),
    ("I row on Tuesdays.", "I row on Fridays."),
    ("I owe Karl 20 euros.", "I owe Karl 35 euros."),
    ("We sold 40 tickets.", "We sold 55 tickets."),
    ("Wilma plays the tuba.", "Egon plays the tuba."),
    ("The garden is large.", "The garden is quiet."),
    ("I take vitamin A, 10 mg.", "I take vitamin D, 20 mg."),
    ("Server A listens on 8080.", "Server B listens on 8081."),
    ("Blood group of Tom: A", "Blood group of Ben: B"),
    ("I work at Acme.", "I work in IT."),
    ("Our archive lives in Ghent.", "Our archive lives in a house with a garden."),
    ("The lamp of the mill is lit at 20:00.", "The lamp of the mill is lit at 22:00 on weekends."),
    ("Maria is my sister.", "Clara is my sister."),
    ("Bus 12 leaves at 8:05.", "Bus 14 leaves at 8:15."),
    ("I have a meeting on 4 May.", "I have a meeting on 5 May."),
    ("Ticket 12 is open.", "Ticket 13 is open."),
    ("Room 4 of the mill is locked.", "Room 7 of the mill is locked."),
    ("The band also plays in Ghent.", "The band also plays in Namur."),
    ("Ich bin gegen Kiwi allergisch.", "Ich bin gegen Sellerie allergisch."),
    ("Mon fils s'appelle Luc.", "Mon fils s'appelle Paul."),
    ("Mi hijo se llama Luis.", "Mi hijo se llama Pablo."),
]


def test_one_thing_has_a_new_value() -> None:
    """A number, a date, a name, a place or a tool for one purpose, in four languages; either way round."""
    for older, newer in NEW_VALUES:
        assert common_frame(newer, older) is not None
        assert common_frame(older, newer) is not None


def test_both_may_hold() -> None:
    """There may be several values, two things are meant, or it happened twice."""
    for older, newer in BOTH_HOLD:
        assert common_frame(newer, older) is None
        assert common_frame(older, newer) is None


def test_a_frame_says_what_differs() -> None:
    """The values stand there as they were written."""
    frame = common_frame("The parser runs on port 7113.", "The parser runs on port 7001.")

    assert frame is not None
    assert (frame.newer, frame.older) == ("7113", "7001")


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_texts_are_compared(one: str, other: str) -> None:
    """No text breaks it, and a statement is no new value of itself."""
    common_frame(one, other)

    assert common_frame(one, one) is None


def test_a_long_statement_is_not_compared() -> None:
    """It says more than one thing, so nothing takes its place."""
    long = "the port of the parser in the old mill by the river " * (MAX_CHARS // 50 + 1)

    assert common_frame(f"{long} is 7001.", f"{long} is 7113.") is None


@pytest.mark.parametrize(
    ("one", "other", "is_other"),
    [
        ("We decided that crate 6007 goes to dock 1.", "We decided that crate 6000 goes to dock 1.", True),
        ("Ticket #91 is closed.", "Ticket 88 is open.", True),
        ("Invoice no. 4711 needs a stamp.", "Invoice no. 4711 is paid.", False),
        ("The crate goes to dock 6.", "The crate goes to dock 5.", False),
        ("Crate 12 goes to dock 6.", "Room 14 is free.", False),
    ],
)
def test_numbers_before_a_verb_name_things(one: str, other: str, *, is_other: bool) -> None:
    """What stands behind the verb is a value, which may change."""
    assert are_of_other_numbers(one, other) is is_other
