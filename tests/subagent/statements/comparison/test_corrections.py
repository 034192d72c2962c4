"""Sentences that put a value right in a stored statement, and those that speak of another thing."""

from hypothesis import given
from hypothesis import strategies as st

from memex.store.search.analyzer import Analyzer
from memex.subagent.statements.comparison.corrections import MAX_CHARS, corrected

ENGLISH = Analyzer("english")
# A sentence, a stored statement, and what becomes of it.
PUT_RIGHT = [
    ("port 4190, not 4180", "The dev server listens on port 4180.", "The dev server listens on port 4190."),
    (
        "Correction: port 4190, not 4180.",
        "The dev server listens on port 4180.",
        "The dev server listens on port 4190.",
    ),
    (
        "The meeting is on Thursday, not Wednesday.",
        "The team meeting is on Wednesday at 10.",
        "The team meeting is on Thursday at 10.",
    ),
    (
        "Not Wednesday but Thursday for the team meeting",
        "The team meeting is on Wednesday at 10.",
        "The team meeting is on Thursday at 10.",
    ),
    ("The rent is 910 euros, not 890 euros.", "The rent is 890 euros.", "The rent is 910 euros."),
    ("It's 4190, not 4180", "The dev server listens on port 4180.", "The dev server listens on port 4190."),
    (
        "Sorry, the dentist is at 15:30, not 14:30",
        "The dentist appointment is at 14:30 on Monday.",
        "The dentist appointment is at 15:30 on Monday.",
    ),
    (
        "My sister's birthday is 4 May, not 3 May",
        "My sister's birthday is 3 May.",
        "My sister's birthday is 4 May.",
    ),
    ("We deploy on Tuesdays, not Mondays", "We deploy on Mondays.", "We deploy on Tuesdays."),
    (
        "the tests run on Python 3.12, not 3.11",
        "The tests run on Python 3.11.",
        "The tests run on Python 3.12.",
    ),
    ("The cabin is not in Linz but in Graz", "The cabin is in Linz.", "The cabin is in Graz."),
    (
        "the timeout is 30 seconds (not 20 seconds)",
        "The timeout is 20 seconds.",
        "The timeout is 30 seconds.",
    ),
    ("Actually, the sofa cost 450, not 540", "The sofa cost 540.", "The sofa cost 450."),
    (
        "der Termin ist am Freitag, nicht am Donnerstag",
        "Der Termin mit Weber ist am Donnerstag.",
        "Der Termin mit Weber ist am Freitag.",
    ),
    (
        "The review will be on Thursday (2026-11-26), not Wednesday (2026-11-25).",
        "The review will be on Wednesday (2026-11-25) in room 4.",
        "The review will be on Thursday in room 4.",
    ),
]
ABOUT_ANOTHER = [
    ("port 4190, not 4180", "The dev server listens on port 4181."),
    ("The API listens on port 4190, not 4180", "The dev server listens on port 4180."),
    ("It's 3, not 2", "I have 2 cats."),
    ("It's Thursday, not Wednesday", "The team meeting is on Wednesday."),
    ("I like tea, not coffee", "I like coffee in the morning."),
    ("2019, not 2018", "I moved to Graz in 2018."),
    ("The office meeting is on Thursday, not Wednesday", "The team meeting is on Wednesday at 10."),
    ("I need 3 eggs, not 2", "Recipe: 2 eggs and 2 cups of milk."),
    ("Use port 4190, not 4180, if the server is busy", "The server listens on port 4180."),
    ("maybe port 4190, not 4180", "The dev server listens on port 4180."),
    ("Anna leads the design team, not Maria", "Maria leads the team."),
    ("My brother's birthday is 4 May, not 3 May", "My sister's birthday is 3 May."),
    ("port 4190, not 41", "The dev server listens on port 4180."),
    ("The rent is 910 euros, not bad", "The rent is 890 euros."),
    ("It is not 4180 but it works", "The dev server listens on port 4180."),
    ("He said port 4190, not 4180", "The dev server listens on port 4180."),
    ("The flat is 60 m2, not 3 rooms", "The flat has 3 rooms."),
    ("We meet at 10, not every week", "We meet at 9."),
    ("port 4190, not 4180", "The ports are 4180 and 4190."),
    ("Maria is a nurse, not a doctor", "Anna is a doctor."),
    ("Port 4190.", "The dev server listens on port 4180."),
    ("", "The dev server listens on port 4180."),
    ("port 4190, not 4180", ""),
    ("Not only port 4190 but also port 4191", "The dev server listens on port 4190."),
]


def test_a_value_is_put_right_where_it_stands() -> None:
    """All else that the statement says stays."""
    found = [corrected(text, stored, ENGLISH) for text, stored, _ in PUT_RIGHT]

    assert found == [right for _, _, right in PUT_RIGHT]


def test_what_is_about_another_thing_puts_nothing_right() -> None:
    """One word more than the stored statement has, another value, a value of another kind, or doubt."""
    found = [(text, stored) for text, stored in ABOUT_ANOTHER if corrected(text, stored, ENGLISH)]

    assert found == []


@given(st.text(max_size=MAX_CHARS), st.text(max_size=MAX_CHARS))
def test_any_two_texts_are_compared(text: str, stored: str) -> None:
    """Nothing raises, also where there is a wrong value."""
    corrected(text, stored, ENGLISH)
    corrected(f"{text} 12, not {stored}", f"{stored} {text}", ENGLISH)
