"""The sentences and people to which the classifiers are fitted."""

from memex.evals.reading.fit import SENTENCES, load_sentences
from memex.evals.reading.people import load_people, read_people
from memex.evals.reading.recall import HELD_OUT, LANGUAGES
from memex.subagent.statements.classifier.classifier import CLASSES
from memex.subagent.statements.classifier.themes import THEMES


def test_each_sentence_has_a_class() -> None:
    """Hardly any stands there twice."""
    sentences = load_sentences()

    assert {one.label for one in sentences} == set(CLASSES)
    assert len({one.writer for one in sentences}) == len(list(SENTENCES.glob("*.tsv")))
    assert len({one.text for one in sentences}) > 0.99 * len(sentences)


def test_each_person_asks_for_what_they_said() -> None:
    """Each statement and question has themes, and each answer is a statement."""
    people = load_people()
    themes = {
        theme
        for one in people
        for text in (*one.statements.values(), *(asked.asked for asked in one.questions))
        for theme in text.themes
    }

    assert len(people) > 100
    assert themes == set(THEMES)
    for one in people:
        assert all(set(asked.answers) <= one.statements.keys() for asked in one.questions)


def test_nobody_who_is_measured_was_fitted_to() -> None:
    """The people of `held_out/` stand in no other folder; a writer may have said the same by chance."""
    fitted = {text.text for one in load_people() for text in one.statements.values()}
    measured = [one for code in LANGUAGES for one in read_people(HELD_OUT / f"{code}.txt")]

    assert len(measured) == 14
    told = [text.text for one in measured for text in one.statements.values()]
    assert len(fitted.intersection(told)) < 0.01 * len(told)
