"""What statements are about, and what questions ask for."""

from hypothesis import given
from hypothesis import strategies as st

from memex.subagent.statements.classifier.themes import (
    WHOLE,
    common_themes,
    question_themes,
    statement_themes,
)

# Written for this test, after the weights were fitted: of each question, the statement that answers it.
ANSWERS = {
    "which pills am I supposed to swallow": "Metformin 500 mg with breakfast and dinner, says Dr Osei.",
    "who are my relatives": "My aunt Ottilie lives in Trieste with her two sons.",
    "what do we pay for the flat": "Rent is 1,120 euros a month, due on the third.",
    "how should you write to me": "Keep answers short and use bullet points, please.",
    "Welche Tiere haben wir?": "Unser Kater heißt Mikesch und ist 9 Jahre alt.",
    "Où est-ce que je travaille ?": "Je suis comptable dans une coopérative de Rennes depuis 2016.",
    "¿Qué no puedo comer?": "Tengo alergia a los frutos secos y al marisco.",
}


def test_answers_are_nearer_than_other_statements() -> None:
    """Though they share no word with their questions: at least six of seven come first."""
    statements = {text: statement_themes(text) for text in ANSWERS.values()}
    first = [
        question
        for question, answer in ANSWERS.items()
        if max(statements, key=lambda text: common_themes(question_themes(question), statements[text]))
        == answer
    ]

    assert len(first) >= 6, set(ANSWERS) - set(first)


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_texts_are_compared(one: str, other: str) -> None:
    """No text breaks it, and texts have at most all themes in common."""
    assert 0 <= common_themes(question_themes(one), statement_themes(other)) <= WHOLE


def test_an_unknown_language_has_no_themes() -> None:
    """Of its words too few are known to say anything."""
    assert statement_themes("Jutro przyjeżdża wujek Zbyszek z Krakowa.") == ()
