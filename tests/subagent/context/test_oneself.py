"""Questions about oneself: what they ask about, in four languages."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.growth import LINEAR, growth

from memex.subagent.context.oneself import asks_for_all, asks_for_oneself, topics_of

QUESTIONS = {
    "everything": [
        "What do you know about me?",
        "Was weißt du über mich?",
        "Que sais-tu de moi ?",
        "¿Qué sabes de mí?",
    ],
    "work": [
        "What do I do for a living?",
        "Was mache ich beruflich?",
        "C'est quoi mon métier ?",
        "¿En qué trabajo?",
    ],
    "manager": ["Who do I report to?", "Wer ist mein Chef?", "Qui est ma cheffe ?", "¿Quién es mi jefa?"],
    "home": ["Where do I live?", "Wo wohne ich?", "Où est-ce que j'habite ?", "¿Dónde vivo?"],
    "family": ["Who is in my family?", "Habe ich Kinder?", "Comment s'appellent mes enfants ?", "mi familia"],
    "pets": ["Do we have any pets?", "Haben wir Haustiere?", "Quels animaux a-t-on ?", "¿Tenemos mascotas?"],
    "languages": [
        "Which languages do I speak?",
        "Welche Sprachen spreche ich?",
        "mes langues",
        "mis idiomas",
    ],
    "car": ["What car do I drive?", "Welches Auto fahre ich?", "ma voiture", "mi coche"],
    "age": ["How old am I?", "Wie alt bin ich?", "Quel âge ai-je ?", "¿Cuántos años tengo?"],
    "diet and health": [
        "What can't I eat?",
        "Was darf ich nicht essen?",
        "mes allergies",
        "¿A qué soy alérgica?",
    ],
    "free time": ["Which instruments do I play?", "meine Hobbys", "mes loisirs", "mis aficiones"],
    "name": ["What is my name?", "Wie heiße ich?", "Comment je m'appelle ?", "¿Cómo me llamo?"],
}
KIN = [
    "What does my sister do?",
    "Wo wohnt meine Schwester?",
    "Quel âge a mon père ?",
    "¿Qué hace mi marido?",
]
OTHERS = ["Where does Bob live?", "What does the boat cost?", "", "Which languages does Ines speak?", "🦊?"]


def test_a_question_says_what_it_asks_about_oneself() -> None:
    """Questions about others and about things ask for nothing of it."""
    for name, questions in QUESTIONS.items():
        for question in questions:
            assert name in [topic.name for topic in topics_of(question)], question
            assert asks_for_all(question) == (name == "everything"), question
    for question in (*KIN, *OTHERS):
        assert asks_for_oneself(question) == (question in KIN), question


@given(st.text())
def test_any_question_may_be_asked(question: str) -> None:
    """The same one asks for the same."""
    assert topics_of(question) == topics_of(question)


@pytest.mark.parametrize("seed", ["what do i ", "my ", "was ", " ", "A "])
def test_reading_a_question_takes_linear_time(seed: str) -> None:
    """Four times the characters take at most about four times as long."""
    assert growth(lambda size: partial(asks_for_oneself, (seed * size)[:size]), 20_000) < LINEAR
