"""How much of the evidence a context holds."""

from typing import Any

from memex.evals.retrieval.evidence import measure_recall
from memex.evals.retrieval.suites import ExpectedEvidence, Question

PATH = "user/talks/a.md"
TEXT = "**Ada**: My course begins.\n\n**Bert**: The dog barks.\n"
ADA, BERT = (0, 26), (28, 51)


def answer(*spans: tuple[int, int], context: str = "", path: str = PATH) -> dict[str, Any]:
    """Return what matters of an answer of memory_context: its sources' spans, and how long it is."""
    found = [{"start": start, "end": end} for start, end in spans]
    return {
        "context": context,
        "sources": [{"path": path, "spans": found}] if found else [],
        "budget": {"limit": 2_000, "used": 321},
    }


def question(*evidence: ExpectedEvidence) -> Question:
    """Return a question with this evidence."""
    return Question("q", "Who?", (), (PATH,), evidence)


def test_a_turn_is_held_when_all_of_it_is() -> None:
    """One of two turns stands in a span whole, the other by half."""
    asked = question(ExpectedEvidence(PATH, ADA), ExpectedEvidence(PATH, BERT))

    found = measure_recall(asked, answer((0, 40)), {PATH: TEXT})

    assert (found.found, found.evidence, found.used_chars) == (1, 2, 321)
    assert 0.5 < found.coverage < 1


def test_white_space_between_spans_is_no_gap() -> None:
    """Two passages that follow each other hold the turn that lies in both."""
    asked = question(ExpectedEvidence(PATH, (0, 51)))

    assert measure_recall(asked, answer((0, 26), (28, 51)), {PATH: TEXT}).found == 1
    assert measure_recall(asked, answer((0, 25), (28, 51)), {PATH: TEXT}).found == 0


def test_a_document_is_held_when_any_of_it_is() -> None:
    """It must be among the sources."""
    asked = question(ExpectedEvidence(PATH))

    assert measure_recall(asked, answer((3, 5)), {PATH: TEXT}).found == 1
    assert measure_recall(asked, answer((3, 5), path="user/other.md"), {PATH: TEXT}).found == 0
    assert measure_recall(asked, answer(), {PATH: TEXT}).coverage == 0


def test_a_text_is_held_where_it_stands_verbatim() -> None:
    """In the context, whatever file it came from."""
    asked = question(ExpectedEvidence(PATH, text="dog barks"), ExpectedEvidence(PATH, text="cat"))

    found = measure_recall(asked, answer(context="… The dog barks. …"), {PATH: TEXT})

    assert (found.found, found.evidence, found.coverage) == (1, 2, 0.5)
