"""Whose a liking is, and how the user wants to be addressed."""

from hypothesis import given
from hypothesis import strategies as st

from memex.subagent.statements.comparison.holders import is_about_another, is_of_another
from memex.subagent.statements.extraction import rule_verdict

OF_OTHERS = [
    "Yusuf prefers async reviews.",
    "Dr. Brandt prefers to be called in the morning.",
    "My wife hates olives.",
    "She can't stand loud music.",
    "The client prefers PDF files.",
    "Ana and Tom prefer window seats",
    "Mum hates cold tea.",
    "Our new designer dislikes dark themes.",
    "Yusuf no longer likes long meetings",
    "My boss wants every report on Monday.",
    "The user's wife prefers tea.",
    "Tomasz takes his coffee black.",
    "Emily would rather work from home.",
    "Yusuf bevorzugt asynchrone Reviews.",
    "Meine Frau mag keine Oliven.",
    "Yusuf préfère les revues asynchrones.",
    "Mi jefe prefiere las reuniones cortas.",
]
OF_THE_USER = [
    "I prefer async reviews.",
    "The user prefers async reviews.",
    "User prefers short answers",
    "Prefers async reviews.",
    "Still hates olives.",
    "Strongly prefers dark mode",
    "We prefer small pull requests",
    "The team prefers async reviews",
    "Our team hates meetings",
    "My stomach hates milk.",
    "I really can't stand loud music",
    "My preferred editor is vim",
    "Coffee is my favourite drink.",
    "Kaffee mag ich nicht.",
    "Ich mag keine Oliven.",
    "Je préfère le thé.",
    "Prefiero el té.",
    "What I hate is noise",
    "No emojis please",
    "Priya prefers window seats.",
    "Please call me Pri",
    "Morning meetings suit me best",
]
ADDRESSES = [
    "Please call me Pri.",
    "Call me Pri.",
    "Please call me Pri in your answers.",
    "You can call me Pri",
    "Please call me Pri, it is shorter.",
    "Call me Dr. Okafor.",
    "Please address me as Captain Holt.",
    "please call me pri",
    "call me by my first name",
    "Use my first name",
    "Please call me Ms. Okafor when you write to clients",
    "Please use they/them pronouns for me.",
    "Please refer to me as the chair",
    "I want to be called Pri.",
    "The user wants to be called Pri.",
    "Call me Priya from now on.",
    "Nennen Sie mich Frau Doktor Weber.",
    "Bitte nenn mich Pri.",
    "Appelle-moi Pri, s'il te plaît.",
    "Llámame Pri, por favor.",
]
NO_ADDRESSES = [
    "Please call me tomorrow.",
    "Call me back.",
    "Please call me at noon.",
    "Call me a taxi.",
    "Call me an Uber.",
    "Call me if the test fails.",
    "Call me on Friday.",
    "Call me Monday.",
    "Please call me Tuesday.",
    "Please call me later",
    "please call me asap",
    "Please call me if it rains.",
    "Ruf mich an.",
    "Please use the pronouns in the file",
    "Please call me Mom about the party.",
    "Use my laptop for the build.",
    "Refer to the manual.",
]


def test_a_liking_of_another_person_is_told_by_its_subject() -> None:
    """A name, a person of the user's, or a pronoun, in four languages."""
    assert [text for text in OF_OTHERS if not is_about_another(text)] == []


def test_a_liking_of_the_user_is_none_of_another_person() -> None:
    """Also without a subject, in the third person, of his team, and under his own name."""
    assert [text for text in OF_THE_USER if is_about_another(text, {"priya"})] == []
    assert is_about_another("Priya prefers window seats.")


def test_how_to_address_the_user_is_a_preference() -> None:
    """With a title, in lower case, by pronouns, and with a reason behind it."""
    assert [text for text in ADDRESSES if rule_verdict(text) != "preference"] == []


def test_a_call_is_no_name() -> None:
    """`Call me` asks for a call where no name stands behind it."""
    assert [text for text in NO_ADDRESSES if rule_verdict(text) == "preference"] == []


TWO_HOLDERS = [
    ("My email is ana@example.org.", "Bob's email is bob@example.org."),
    ("My email is ana@example.org.", "My sister's email is ida@example.org."),
    ("My email is ana@example.org.", "The email of the club is club@example.org."),
    ("Anna’s phone number is 555-0101.", "Bo's phone number is 555-0102."),
    ("Meine Adresse ist Am Ring 4.", "Lenas Haus ist rot, und Bob's Adresse ist Am Tor 5."),
    ("Mon adresse est 4 rue du Lac.", "L'adresse de Léa est 5 rue du Port."),
    ("Monday's rehearsal is at 18:00.", "Friday's rehearsal is at 19:00."),
    ("We start on 23 November.", "He starts on 1 December, no more nights."),
]
ONE_HOLDER = [
    ("My email is ana@example.org.", "My email is ana@example.com now."),
    ("My email is ana@example.org.", "Our email is ana@example.com."),
    ("Bob's email is bob@example.org.", "Bob’s email is now bo@example.org."),
    ("The email is ana@example.org.", "Bob's email is bob@example.org."),
    ("Bob's email is bob@example.org.", "His email is bo@example.org."),
    ("It's late, that's all.", "What's late is late."),
]


def test_one_thing_of_two_holders_is_two_things() -> None:
    """Whoever is named first."""
    for one, other in TWO_HOLDERS:
        assert is_of_another(one, other)
        assert is_of_another(other, one)


def test_one_thing_of_one_holder_may_change() -> None:
    """Also where a statement does not say whose it is."""
    for one, other in ONE_HOLDER:
        assert not is_of_another(one, other)
        assert not is_of_another(other, one)


@given(st.text(max_size=500))
def test_any_text_has_a_holder(text: str) -> None:
    """Nothing raises, and a text is about no other thing than itself."""
    is_about_another(text)
    assert not is_of_another(text, text)
