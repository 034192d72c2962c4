"""Statements in nearly the same words."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from memex.evals.remember import load_cases
from memex.subagent.statements.extraction import extract_statements
from memex.subagent.statements.paraphrase import are_paraphrases, paraphrase_form
from memex.subagent.statements.subjects import normal_form

SAME = [
    ("I like tea.", "The user likes tea"),
    ("I always watch two films.", "User always watches 2 films"),
    ("My birthday is on May 5.", "The user's birthday is May 5"),
    ("I am vegan.", "The user is vegan."),
    ("I have a dog.", "The user has a dog"),
    ("I study law.", "the user studies law"),
    ("I don't eat meat.", "The user does not eat meat."),
    ("I currently live in Rome.", "I live in Rome"),
    ("The follow-up is due on Friday.", "The follow up is due Friday."),
    ("We decided to use Postgres.", "We decided to use  **Postgres**!"),
    ("Der Zug fährt ab München.", "der Zug fährt  ab *München*"),
]
OTHER = [
    ("Deploys may run on Friday.", "Deploys must run on Friday."),
    ("My work address is 5 Elm Street.", "My home address is 5 Elm Street."),
    ("I like tea.", "I don't like tea."),
    ("I like tea.", "I liked tea."),
    ("I live in Rome.", "I lived in Rome."),
    ("I live in Rome.", "I used to live in Rome."),
    ("I prefer tea over coffee.", "I prefer coffee over tea."),
    ("Alice manages Bob in Graz.", "Bob manages Alice in Graz."),
    ("The build depends on the tests today.", "The tests depends on the build today."),
    ("The launch is on May 5.", "The launch is on May 12."),
    ("The launch is on May 5.", "The launch is on June 5."),
    ("The budget is 1,000 EUR.", "The budget is 10,000 EUR."),
    ("The meeting is at 10:00.", "The meeting is at 10:30."),
    ("Alice likes tea.", "Alicia likes tea."),
    ("I have a cat.", "I have cats."),
    ("I like still water.", "I like water."),
    ("The soup is hot.", "The soup is too hot."),
    ("The user likes tea.", "Bob likes tea."),
    ("All tests pass.", "Some tests pass."),
    ("We use Python 3.11.", "We use Python 3.12."),
    ("Alice, Bob, Carl, Dave and Eve", "Bob, Carl, Dave, Eve and Alice"),
    ("I live in Rome with Eva.", "I live in Rome."),
    ("Ich trinke keinen Tee.", "Ich trinke Tee."),
    ("Use `git push -f`.", "Use `git push`."),
    ("Run:\n```\nmake all\n```", "Run:\n```\nmake\n```"),
    ("The door is unlocked.", "The door is locked."),
    ("I am allergic to nuts.", "I am not allergic to nuts."),
]


def test_same_in_other_words() -> None:
    """The speaker, small words, hyphens and numbers do not count."""
    for one, other in SAME:
        assert are_paraphrases(one, other)
        assert are_paraphrases(other, one)


def test_one_word_makes_another_statement() -> None:
    """Modal, negation, tense, number, name, order and whatever else says something."""
    for one, other in OTHER:
        assert not are_paraphrases(one, other)
        assert not are_paraphrases(other, one)


def test_statements_of_the_cases_are_told_apart() -> None:
    """Of all that the written cases say, one pair is nearly the same and not the same by its normal form."""
    said = {statement.text for case in load_cases() for statement in extract_statements(case.text).statements}
    by_key: dict[tuple[str, ...], list[str]] = {}
    for text in sorted(said):
        by_key.setdefault(paraphrase_form(text), []).append(text)
    pairs = [pair for texts in by_key.values() for pair in combinations(texts, 2)]
    near = [(one, other) for one, other in pairs if normal_form(one) != normal_form(other)]

    assert len(said) > 200
    assert near == [("I live in Linz now.", "I live in Linz.")]


@given(st.text())
def test_every_text_is_like_itself(text: str) -> None:
    """And has a form, whatever it holds."""
    assert paraphrase_form(text) == paraphrase_form(text)
    assert are_paraphrases(text, text)
    assert not text.strip() or paraphrase_form(text)
