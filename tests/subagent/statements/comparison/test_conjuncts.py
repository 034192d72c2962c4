"""The facts that a sentence joins, and which words leave it for a request."""

from hypothesis import given
from hypothesis import strategies as st

from memex.store.search.analyzer import analyzer_of
from memex.subagent.statements.comparison.conjuncts import conjuncts_of, meant_part, readings_of, rest_beside
from memex.subagent.statements.named import content_of

ENGLISH = analyzer_of("english")

# A sentence, what is asked for, and what goes; "" if the request means all of it, or no part can go alone.
PARTS = [
    ("My tailor is Ms. Rook and my barber is Mr. Finch.", "my barber", " and my barber is Mr. Finch"),
    ("My tailor is Ms. Rook and my barber is Mr. Finch.", "my tailor", "My tailor is Ms. Rook and "),
    ("My niece Ina sings and has a cold.", "Ina", ""),
    ("My niece Ina is a nurse and has a cold.", "that Ina is a nurse", "is a nurse and "),
    ("My niece Ina is a nurse and has a cold.", "that Ina has a cold", " and has a cold"),
    ("Ina is my niece and she lives in Split.", "Ina", ""),
    ("Ina is my niece and she lives in Split.", "where Ina lives", " and she lives in Split"),
    ("I collect stamps and coins.", "my coins", ""),
    ("My uncle and my aunt live in Bergen.", "my aunt", ""),
    ("If it is cold and the pipes are old, call Ida.", "the pipes", ""),
    ("Mein Schneider ist Herr Rook und mein Friseur Herr Finch.", "Friseur", " und mein Friseur Herr Finch"),
    ("Mon tailleur est M. Rook et mon coiffeur est M. Finch.", "coiffeur", " et mon coiffeur est M. Finch"),
    ("Mi sastre es Rook y mi barbero es Finch.", "barbero", " y mi barbero es Finch"),
]


def words(text: str) -> frozenset[str]:
    """Return the words of a text as search compares them."""
    return frozenset(ENGLISH.lexemes(text))


def test_a_request_takes_the_words_of_the_fact_that_it_means() -> None:
    """With what joins it to the others; a shared subject stays, and what a pronoun stands for counts."""
    for sentence, request_, gone in PARTS:
        span = meant_part(sentence, words(content_of(request_)), words)

        assert (sentence[slice(*span)] if span else "") == gone


def test_what_a_pronoun_stands_for_does_not_go_alone() -> None:
    """Else the rest would speak of whoever takes its place."""
    sentence = "My boss is Tim and he lives in Bern."
    first, *_ = readings_of(sentence)[1:]

    assert rest_beside(sentence, lambda fact: fact == first) == ""
    assert rest_beside("My boss is Tim and I live in Bern.", lambda fact: fact == first) == "I live in Bern."


def test_an_infinitive_states_nothing_alone() -> None:
    """What is wished or denied with two verbs is no fact by its second one; a verb with an ending is."""
    for sentence in (
        "I want to live in Split and work at Rook.",
        "I would live in Split and work at Rook.",
        "I didn't live in Split and work at Rook.",
    ):
        assert len(conjuncts_of(sentence)) == 1
    assert readings_of("Ina goes to school and plays chess.")[1:] == ("Ina goes to school", "Ina plays chess")
    assert readings_of("Vivo en Split y trabajo en Rook.")[1:] == ("Vivo en Split", "trabajo en Rook")


@given(st.text(max_size=120), st.text(max_size=20))
def test_what_goes_is_a_part_of_any_text(text: str, request_: str) -> None:
    """Never all of it, and never nothing."""
    span = meant_part(text, words(request_), words)

    if span is not None:
        assert 0 <= span[0] < span[1] <= len(text)
        assert text[: span[0]] + text[span[1] :]


def test_a_long_text_joins_no_facts() -> None:
    """It is no sentence, and is not looked through."""
    assert conjuncts_of("I am and " * 1_000) == []
