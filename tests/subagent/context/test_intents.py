"""Questions that ask for a list: what they ask for, and the statements that answer."""

from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.growth import LINEAR, growth

from memex.store.search.analyzer import Analyzer
from memex.store.search.bm25 import Query
from memex.subagent.context.intents import MAX_FILES, intent_of, listed_statements

NOTHING = Query((), (), 0.0, 0.0)
QUESTIONS = {
    "tasks": [
        "What's on my to-do list?",
        "What’s left to do before the regatta?",
        "what do I still have to do",
        "Was muss ich diese Woche noch erledigen?",
        "Qu'est-ce que je dois faire ?",
        "¿Qué tengo pendiente?",
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
    "goals": ["What are our goals?", "Was sind meine Ziele?", "Quels sont mes objectifs ?", "mis objetivos"],
}
NO_LIST = [
    *("", " \n", "🦊?", "When is the choir rehearsal?", "Who repairs the mast?", "Where do I live?"),
    *("Wann ist die Chorprobe?", "Quand est la répétition ?", "¿Cuándo es el ensayo?"),
]


class Files:
    """Memory tools over files in this process."""

    def __init__(self, **contents: str) -> None:
        self.contents = {f"{name.replace('__', '/')}.md": text for name, text in contents.items()}
        self.analyzer = Analyzer()
        self.was_read: list[str] = []

    async def list_files(self, prefix: str, *, limit: int) -> list[Any]:
        """Return the files below a path."""
        return [SimpleNamespace(path=path) for path in sorted(self.contents) if path.startswith(prefix)][
            :limit
        ]

    async def read_file(self, path: str) -> Any:
        """Return the only version of a file."""
        self.was_read.append(path)
        return SimpleNamespace(version=1, content=self.contents[path])


async def listed(question: str, files: Files) -> list[str]:
    """Return the statements that answer a question."""
    intent = intent_of(question)
    assert intent is not None
    units = await listed_statements(intent, NOTHING, files)  # type: ignore[arg-type]  # only what it reads
    return [unit.candidate.text for unit in units]


def test_a_question_says_which_list_it_asks_for() -> None:
    """In four languages; other questions ask for none."""
    for name, questions in QUESTIONS.items():
        for question in questions:
            intent = intent_of(question)
            assert intent is not None, question
            assert intent.name == name, question
    for question in NO_LIST:
        assert intent_of(question) is None, question


async def test_tasks_are_listed_the_newest_first() -> None:
    """Those of projects too; what is done or said elsewhere is no task."""
    files = Files(
        user__tasks="## To do\n\n- Oil the oars. (2027-03-01)\n- Ask Ines. (2027-03-03)\n\n"
        "## Done\n\n- Sail. (2027-03-04)\n",
        user__notes="## Notes\n\n- Ines rows. (2027-03-05)\n",
        projects__boat__tasks="## Blocked\n\n- We wait for the permit. (2027-03-02)\n",
        projects__boat__plan="## To do\n\n- Not a file of statements. (2027-03-09)\n",
    )

    assert await listed("What's on my to-do list?", files) == [
        "- Ask Ines. (2027-03-03)",
        "- We wait for the permit. (2027-03-02)",
        "- Oil the oars. (2027-03-01)",
    ]
    assert files.was_read == ["user/tasks.md", "projects/boat/tasks.md"]


async def test_a_note_may_be_an_open_question() -> None:
    """It says itself that it is open."""
    files = Files(
        user__notes="## Notes\n\n- Open: who paints the mast? (2027-03-01)\n- Ines paints. (2027-03-02)\n"
        "- Die Farbe ist noch ungeklärt. (2027-03-03)\n- La couleur est en suspens. (2027-03-04)\n",
    )

    assert await listed("What is still undecided?", files) == [
        "- La couleur est en suspens. (2027-03-04)",
        "- Die Farbe ist noch ungeklärt. (2027-03-03)",
        "- Open: who paints the mast? (2027-03-01)",
    ]


async def test_a_question_reads_few_files() -> None:
    """However many a series has; without any there is nothing to list."""
    files = Files(**{f"user__tasks-{n}": f"## To do\n\n- Oar {n} (2027-03-01)\n" for n in range(2, 30)})

    assert len(await listed("What's on my to-do list?", files)) == len(files.was_read) == MAX_FILES
    assert await listed("What's on my to-do list?", Files()) == []


WORDS = st.lists(st.sampled_from(["what", "my", "tasks", "do i", "open", "?", "é", "\n", "’"])).map(" ".join)


@given(st.text() | WORDS)
def test_any_question_may_be_asked(question: str) -> None:
    """The same one asks for the same."""
    assert intent_of(question) == intent_of(question)


@pytest.mark.parametrize("seed", ["what ", "was wurde ", "how do i ", " ", "A "])
def test_reading_a_question_takes_linear_time(seed: str) -> None:
    """Four times the characters take about four times as long, of 200,000 too."""
    assert growth(lambda size: partial(intent_of, (seed * size)[:size]), 20_000) < LINEAR
