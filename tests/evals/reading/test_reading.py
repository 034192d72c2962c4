"""The labelled sentences, and the people whose questions are asked."""

from memex.evals.memex_adapter import MemexAdapter
from memex.evals.reading.labelled import CLASSES, SENTENCES, LabelledSentence, load_sentences
from memex.evals.reading.people import LANGUAGES, SETS, Person, PersonQuestion, load_people
from memex.evals.reading.recall import BUDGETS, measure
from memex.evals.reading.requests import table
from memex.service.service import Service


def test_each_sentence_has_a_class() -> None:
    """Hardly any stands there twice."""
    sentences = load_sentences()

    assert {one.label for one in sentences} == CLASSES
    assert {one.language for one in sentences} == set(LANGUAGES.values())
    assert len({one.writer for one in sentences}) == len(list(SENTENCES.glob("*.tsv")))
    assert len({one.text for one in sentences}) > 0.99 * len(sentences)


def test_requests_to_forget_are_counted() -> None:
    """Those that are found, and other sentences that are taken for one, by round and language."""
    told = [
        LabelledSentence("Please forget what I said about my landlord.", "forget", "u-en-1"),
        LabelledSentence("My landlord is no topic any more.", "forget", "u-en-2"),
        LabelledSentence("Forget the Italian supplier.", "decision", "u-en-2"),
        LabelledSentence("Ich singe.", "fact", "s-de"),
    ]

    assert table(told).rows == (
        ("first", "german", "0 of 0", "0 of 1"),
        ("third", "english", "1 of 2", "1 of 1"),
    )


def test_each_person_asks_for_what_they_said() -> None:
    """Each answer is a statement, and each set has people of all four languages."""
    for folder in SETS.values():
        people = load_people(folder)
        assert {one.language for one in people} == set(LANGUAGES.values())
        for one in people:
            assert one.questions
            assert all(set(asked.answers) <= one.statements.keys() for asked in one.questions)
            assert not any(text.startswith("\t") or not text.strip() for text in one.statements.values())


def test_people_of_both_sets_said_other_things() -> None:
    """Nobody stands in both, so that one can be read and the other measured; two may say the same by chance."""
    opened, measured = (load_people(SETS[name]) for name in ("people", "held"))
    read = {text for one in opened for text in one.statements.values()}
    told = [text for one in measured for text in one.statements.values()]

    assert (len(opened) > 100, len(measured)) == (True, 14)
    assert len(read.intersection(told)) < 0.01 * len(told)


async def test_what_a_context_holds_is_counted(service: Service) -> None:
    """Each statement that answers, by budget; a question without an answer expects none."""
    statements = {"S1": "My boat is called Fulmar.", "S2": "I prefer oolong tea."}
    questions = [PersonQuestion("What is my boat called?", ("S1",)), PersonQuestion("Who is Wanda?", ())]
    counts = await measure(Person("a rower", "english", statements, questions), MemexAdapter(service))

    for budget in BUDGETS:
        assert counts[f"questions {budget}"] == 2
        assert (counts[f"found {budget}"], counts[f"expected {budget}"]) == (1, 1)
        assert counts[f"lines {budget}"] >= 1
