"""Sentences that put right what was said before them, and those that open alike and do not."""

from memex.subagent.statements.comparison.short_corrections import short_correction

# A sentence, a statement, and what becomes of it; None where the statement is not meant beyond doubt.
PUT_RIGHT = [
    ("No, it is at 4 pm.", "The meeting is at 3 pm in room 4.", "The meeting is at 4 pm in room 4."),
    ("Sorry, 5 May.", "Lena's birthday is 3 May.", "Lena's birthday is 5 May."),
    ("No, her name is Anna.", "My sister is called Ana.", "My sister is called Anna."),
    ("Not 20, 10 mg.", "I take 20 mg of the tablets.", "I take 10 mg of the tablets."),
    ("nope, Flex Depot", "I go to the gym Pulse Yard.", "I go to the gym Flex Depot."),
    ("Oh wait, I meant Solveig.", "My sister is called Branka.", "My sister is called Solveig."),
    ("Nein, am 5. Mai.", "Lena hat am 3. Mai Geburtstag.", "Lena hat am 5. Mai Geburtstag."),
    (
        "Small correction about my sister's name: it is Ottilie.",
        "My sister is called Branka.",
        "My sister is called Ottilie.",
    ),
    ("Not 30, 10 mg.", "I take 20 mg of the tablets.", None),
    ("No, it is at 4 pm.", "The meeting is from 3 pm to 5 pm.", None),
    ("No, it is at 4 pm.", "The meeting is at 16:00.", None),
    ("No, 5.", "The meeting is at 3 pm in room 4.", None),
    ("No, 10 mg.", "The bag weighs 20 kg.", None),
]
NOTHING = [
    "No, thank you, Anna.", "No, I can't on Friday.", "Sorry, Anna.", "Sorry, I was late on 5 May.",
    "Wait, is it at 4 pm?", "Wait, Anna and Bob are coming.", "Not Anna again.", "Not on Monday, thanks.",
    "Not before 10 am.", "No Monday meetings.", "No, not yet.", "No 20 mg tablets are left.", "Wait 5 minutes.",
    "Sorry for the delay on 5 May.", "Sorry, 2 minutes please.", "Wait until 4 pm.", "Wait for Anna.",
    "No more than 10 mg.", "Not 20 people came.", "Not even Anna knew.", "No, Anna said so.",
    "No, we met on 5 May in Ulm.", "Sorry, my train leaves at 4 pm.", "Wait, I met Solveig.",
    "No, from 3 pm to 5 pm.", "Not bad, 10 points.", "No, 5 more.", "Sorry, I owe Bob 30 euros.",
    "No one called on 5 May.", "Not all, 10 of them.", "Sorry, Monday is a holiday.", "Wait, Monday?",
    "No, not on 5 May.", "Oh, 4 pm!", "No, 10 mg is too much.", "Sorry, wrong chat: see you at 4 pm",
]  # fmt: skip


def test_the_one_value_of_a_kind_is_put_right() -> None:
    """What has several values of the kind, another one or this one already, is left alone."""
    for text, stored, right in PUT_RIGHT:
        correction = short_correction(text)
        assert correction is not None, text
        assert correction.applied_to(stored) == right, (text, stored)


def test_what_says_more_than_a_value_puts_nothing_right() -> None:
    """Nor does a value without a word that opens a correction, or a name that may be spoken to."""
    assert [text for text in NOTHING if short_correction(text)] == []
