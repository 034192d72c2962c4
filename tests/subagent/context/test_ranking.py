"""What a statement is worth as an answer."""

from datetime import date

import pytest

from memex.store.records import Reference
from memex.store.search.analyzer import Analyzer
from memex.store.search.bm25 import weigh
from memex.subagent.context.ranking import answer_forms, rank_statements
from memex.subagent.context.selection import CandidatePassage
from memex.subagent.context.statements import StatementUnit

ANALYZER = Analyzer()


def ordered(question: str, *statements: tuple[str, int], is_beside_passages: bool = False) -> list[str]:
    """Return statements, each said on a day of May, with what is worth most as an answer first."""
    lexemes = ANALYZER.lexemes(question)
    query = weigh(lexemes, n=1_000, total_length=90_000, df=dict.fromkeys(lexemes, 3))
    units = [
        StatementUnit(
            CandidatePassage(Reference("user/notes.md", 1, (place, place + 1)), f"- {text}", 0, "match"),
            date(2026, 5, day),
        )
        for place, (text, day) in enumerate(statements)
    ]
    ranked = rank_statements(units, question, query, ANALYZER, is_beside_passages=is_beside_passages)
    assert all(unit.candidate.value > 0 for unit in ranked)
    return [unit.candidate.text.removeprefix("- ") for unit in ranked]


def test_shared_words_come_first() -> None:
    """Before what was said later about something else."""
    sails = "Åsa mends the brown sails in the boathouse."
    fence = "Ines painted the fence of the garden green."

    assert ordered("Who mends the brown sails?", (fence, 9), (sails, 1)) == [sails, fence]


def test_what_was_said_last_comes_first() -> None:
    """Of statements that say the same otherwise."""
    old, new = "The ferry leaves from pier four.", "The ferry leaves from pier nine."

    assert ordered("Where does the ferry leave?", (old, 1), (new, 9)) == [new, old]


def test_the_form_of_the_answer_counts() -> None:
    """A question for a time is answered by a time."""
    day = "The rehearsal of the choir is at 19:30 on Thursdays."
    place = "The rehearsal of the choir is in the old chapel."

    assert ordered("When is the rehearsal of the choir?", (place, 1), (day, 1))[0] == day


def test_value_is_never_nothing() -> None:
    """Beside passages a statement without a word of the question is worth little, and more than nothing."""
    assert ordered("xyzzy?", ("Bo naps.", 1), is_beside_passages=True) == ["Bo naps."]


@pytest.mark.parametrize(
    ("question", "sort"),
    [
        ("When do we leave?", "date"),
        ("Wie viel kostet das Rad?", "money"),
        ("Qui garde le chat ?", "name"),
        ("¿Cuándo es la boda?", "date"),
    ],
)
def test_forms_are_known_in_four_languages(question: str, sort: str) -> None:
    """A question asks for values of a sort."""
    assert any(sort in form for form in answer_forms(question))


def test_a_request_for_anything_has_no_form() -> None:
    """Nor has a question that only holds such a word."""
    assert answer_forms("Tell me about the garden.") == []
    assert answer_forms("What has changed since May?") == []
