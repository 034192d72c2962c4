"""The notes in other languages: what is asked, and that a memory of each language is searched."""

from pathlib import Path

import pytest

from memex.evals.languages.suite import READERS, SETTINGS
from memex.evals.retrieval import evaluation
from memex.evals.retrieval.evaluation import RetrievalOptions

pytestmark = pytest.mark.embedded_only


def test_each_language_has_notes_and_questions_about_them() -> None:
    """At least 200 notes and 60 questions; the notes that answer a question exist, and no note is there twice."""
    parts = [reader(Path()) for reader in READERS]

    assert [part.name for part in parts] == [f"notes-{code}" for code in SETTINGS]
    assert all(part.files >= 200 and part.questions >= 60 for part in parts)
    for part in parts:
        [person] = part.collections
        assert all(path in person.files for question in person.questions for path in question.relevant)
        assert len(set(person.files.values())) == part.files
        assert len({question.id for question in person.questions}) == part.questions


@pytest.mark.slow
async def test_a_memory_of_each_language_is_asked(conninfo: str) -> None:
    """By words alone, most questions find their note, and names of files give nothing away."""
    run = await evaluation.run_suite("languages", Path(), RetrievalOptions(database_url=conninfo, sample=20))

    assert [part.counts["all"] for part in run.parts] == [20] * 5
    assert all(part.guard and part.guard.is_at_chance for part in run.parts)
    assert all(part.figures["all"]["recall@20"].value > 0.5 for part in run.parts)
