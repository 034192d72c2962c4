"""Requests to forget in words of their own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memex.subagent.statements.classifier.classifier import (
    ADDRESSED_FROM,
    CLASSES,
    classify,
    forget_likelihood,
)
from memex.subagent.statements.extraction import rule_verdict

# Written for this test, after the weights were fitted.
REQUESTS = [
    "Kindly strike the part on my brother's debts from your memory.",
    "Please remove what I told you about the clinic from your notes.",
    "Bitte streich das mit der Kündigung wieder aus deinem Gedächtnis.",
    "Efface de ta mémoire ce que j'ai dit sur mon salaire.",
    "Borra de tu memoria lo que te conté de mi jefe.",
]
NO_REQUESTS = [
    "Don't forget to water the ferns on Sunday.",
    "I forgot my umbrella at the dentist's.",
    "The old shed was removed in May.",
    "Ich habe vergessen, die Post zu holen.",
    "Il ne faut pas oublier le pain.",
]


@pytest.mark.parametrize("sentence", REQUESTS)
def test_request_to_forget_is_recognized(sentence: str) -> None:
    """In four languages."""
    assert (forget_likelihood(sentence, rule_verdict(sentence)) or 0) >= ADDRESSED_FROM


@pytest.mark.parametrize("sentence", NO_REQUESTS)
def test_other_sentences_ask_for_nothing(sentence: str) -> None:
    """Though they hold the words of a request."""
    assert (forget_likelihood(sentence, rule_verdict(sentence)) or 0) < ADDRESSED_FROM


def test_an_unknown_language_has_no_class() -> None:
    """Of its words too few are known to say anything."""
    assert classify("Jutro przyjeżdża wujek Zbyszek z Krakowa.", "note") is None


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    """No text breaks it, and the classes share what is certain."""
    found = classify(text, "note")

    assert found is None or (set(found) == set(CLASSES) and abs(sum(found.values()) - 1) < 1e-9)
