"""Questions that ask for a list: what they ask for."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.growth import LINEAR, growth
from tests.kit.property_budget import in_turn

from memex.subagent.context.intents import intent_of

QUESTIONS = {
    "tasks": [
        "What's on my to-do list?",
        "What’s left to do before the regatta?",
        "Which tasks are not done yet?",
        "what do I still have to do",
        "What to do before Monday?",
        "Was muss ich diese Woche noch erledigen?",
        "Qu'est-ce que je dois faire ?",
        "¿Qué tengo pendiente?",
    ],
    "done": [
        "Which tasks are done?",
        "my completed tasks",
        "Welche Aufgaben sind schon erledigt?",
        "Quelles tâches sont faites ?",
        "¿Qué tareas están hechas?",
    ],
    "open questions": [
        "Which questions about the regatta are still open?",
        "What is not yet decided?",
        "Welche Fragen sind noch offen?",
        "Qu'est-ce qui est en suspens ?",
        "¿Hay preguntas abiertas?",
    ],
    "preferences": ["What are my preferences?", "Was mag ich?", "mes préférences", "mis preferencias"],
    "decisions": [
        "What did we decide about the mast?",
        "Was haben wir zum Mast beschlossen?",
        "Qu'a-t-on décidé ?",
        "¿Qué decidimos?",
    ],
    "rules": [
        "What are the rules on board?",
        "Welche Regeln gelten?",
        "Quelles règles ?",
        "¿Qué reglas hay?",
    ],
    "due": [
        "What is due this week?",
        "Which deadlines are coming up?",
        "Was ist diese Woche fällig?",
        "Welche Fristen habe ich?",
        "Quelles sont mes échéances ?",
        "¿Qué plazos tengo?",
    ],
    "days": [
        "What's on tomorrow?",
        "Was steht heute an?",
        "Qu'est-ce qui est prévu demain ?",
        "¿Qué tengo hoy?",
    ],
    "new": [
        "What is new since Monday?",
        "What has changed lately?",
        "Was gibt es Neues seit Montag?",
        "Quoi de neuf ?",
        "¿Qué hay de nuevo?",
    ],
    "person": [
        "What do you know about me?",
        "Tell me everything you have stored about me.",
        "summarize what you remember about me",
        "Who am I?",
        "Was weißt du über mich?",
        "Que sais-tu de moi ?",
        "¿Qué sabes de mí?",
    ],
    "goals": ["What are our goals?", "Was sind meine Ziele?", "Quels sont mes objectifs ?", "mis objetivos"],
}
NO_LIST = [
    *(
        "When is the tax return due?",
        "Is she late due to the rain?",
        "What's new with Bob?",
        "What's on the boat?",
    ),
    *("", " \n", "🦊?", "When is the choir rehearsal?", "Who repairs the mast?", "Where do I live?"),
    *(
        "Who tells the team what to do?",
        "Do I know what to do then?",
        "What do you know about the mast?",
        "What did you tell Bo about me and the boat?",
        "Wann ist die Chorprobe?",
        "Quand est la répétition ?",
        "¿Cuándo es el ensayo?",
    ),
]


def test_a_question_says_which_list_it_asks_for() -> None:
    """In four languages; other questions ask for none."""
    for name, questions in QUESTIONS.items():
        for question in questions:
            intent = intent_of(question)
            assert intent is not None, question
            assert intent.name == name, question
    for question in NO_LIST:
        assert intent_of(question) is None, question


WORDS = st.lists(st.sampled_from(["what", "my", "tasks", "do i", "open", "?", "é", "\n", "’"])).map(" ".join)


@given(st.text() | WORDS)
def test_any_question_may_be_asked(question: str) -> None:
    """The same one asks for the same."""
    assert intent_of(question) == intent_of(question)


@pytest.mark.parametrize("seed", in_turn(["what ", "was wurde ", "how do i ", " ", "A "], 2))
def test_reading_a_question_takes_linear_time(seed: str) -> None:
    """Four times the characters take about four times as long, of 200,000 too."""
    assert growth(lambda size: partial(intent_of, (seed * size)[:size]), 20_000) < LINEAR
