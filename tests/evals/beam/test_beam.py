"""BEAM: what of its data is read as evidence, and what is measured is what one would count by hand."""

import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.evals.lives.test_lives import Everything, Nothing, counted

from memex.errors import ValidationFailed
from memex.evals.adapter import Placed
from memex.evals.beam.chats import BeamChat, load_beam
from memex.evals.beam.measure import measure_chat
from memex.evals.beam.play import evidence_texts, play_chat
from memex.evals.beam.sides import Amount, amounts_of, is_part, key_sentence, update_of
from memex.evals.lives.candidates import CandidateWatch
from memex.evals.lives.measure import LifeMeasures
from memex.evals.memex_adapter import MemexAdapter
from memex.service.evals.states import State
from memex.service.service import Service
from memex.store.database import Database

SAID = {
    0: "My library has 45 sources about otters.",
    2: "I have never rowed the red boat.",
    4: "I prefer short answers about boats.",
    6: "My library has 52 sources about otters now.",
    8: "I rowed the red boat to the island.",
}
ASKED: list[tuple[str, str, str, list[int]]] = [
    ("knowledge_update", "How many sources are in my library?", "52 sources", [0, 6]),
    ("contradiction_resolution", "Have I rowed the red boat?", "You said both.", [2, 8]),
    ("preference_following", "How should answers about boats be?", "Short answers.", [4]),
    ("abstention", "Who is Otto?", "Nobody knows.", []),
    ("knowledge_update", "Who is the keeper?", "Wanda", [1]),
]


class Scripted:
    """A service that keeps everything, or nothing."""

    name = "scripted"

    def __init__(self, *, keeps: bool) -> None:
        self.keeps = keeps

    @asynccontextmanager
    async def place(self, state: State) -> AsyncIterator[Placed]:
        """Begin with an empty memory."""
        yield Everything() if self.keeps else Nothing()


def published(folder: Path) -> Path:
    """Write the chat as it is published, and return the folder of the data."""
    messages: list[dict[str, Any]] = [
        {"id": at, "role": "user", "content": text, "time_anchor": None if at else "March-15-2024"}
        for at, text in SAID.items()
    ]
    messages.append({"id": 1, "role": "assistant", "content": "The keeper is Wanda."})
    questions = [
        {"qid": f"q{place}", "ability": ability, "question": text, "answer": answer, "evidence_ids": ids}
        for place, (ability, text, answer, ids) in enumerate(ASKED)
    ]
    document = {"chat": "x", "messages": sorted(messages, key=lambda one: one["id"]), "questions": questions}
    (folder / "beam").mkdir()
    (folder / "beam" / "beam-100K-01.json.gz").write_bytes(gzip.compress(json.dumps(document).encode()))
    return folder


@pytest.fixture
def chat(tmp_path: Path) -> BeamChat:
    """The chat of a boatman."""
    [only] = load_beam(published(tmp_path), "100K")
    return only


async def measured(chat: BeamChat, *, keeps: bool) -> LifeMeasures:
    """Return what a memory shows that keeps everything, or nothing."""
    return measure_chat(await play_chat(chat, Scripted(keeps=keeps)))


def test_a_chat_is_the_users_side_with_the_questions_that_it_can_answer(chat: BeamChat) -> None:
    """The days are those of the anchors; messages follow each other."""
    assert [message.text for message in chat.messages] == list(SAID.values())
    assert str(chat.messages[0].at) == "2024-03-15 09:00:00+00:00"
    assert sorted(message.at for message in chat.messages) == [message.at for message in chat.messages]
    assert [question.id for question in chat.questions] == ["q0", "q1", "q2"]
    assert len(evidence_texts([chat])) == 5


def test_what_is_no_chat_is_refused(tmp_path: Path) -> None:
    """With the file, or with the size that is missing."""
    root = published(tmp_path)
    with pytest.raises(ValidationFailed, match="no beam/beam-500K"):
        load_beam(root, "500K")
    for data in (b"no gzip", gzip.compress(b"{}"), gzip.compress(b"[")):
        (root / "beam" / "beam-100K-02.json.gz").write_bytes(data)
        with pytest.raises(ValidationFailed, match="is no chat of BEAM"):
            load_beam(root, "100K")


def test_amounts_have_the_words_beside_them() -> None:
    """A sign, a month before the number, or what is counted behind it."""
    assert amounts_of(
        "It costs $1,250, which is 12% of May 5, at 4:30 PM, for 8 red oars in 5-7 months."
    ) == [
        Amount("1250", frozenset({"$"})),
        Amount("12", frozenset({"%"})),
        Amount("5", frozenset({"may"})),
        Amount("4:30", frozenset({"pm"})),
        Amount("8", frozenset({"red", "oars"})),
        Amount("5-7", frozenset({"months"})),
    ]
    assert amounts_of("v5.3.0 and no2") == []


def test_an_update_has_a_newer_and_an_older_side(chat: BeamChat) -> None:
    """The number differs, what it counts does not; a text that has both is no older one."""
    update = update_of(chat.questions[0])
    assert update is not None

    assert (update.later.id, [message.id for message in update.earlier]) == (6, [0])
    assert update.is_newer("- my library has 52 sources about otters now. (2024-03-15)")
    assert not update.is_newer(SAID[0])
    assert update.is_older("- my library has 45 sources about otters. (2024-03-15)")
    assert not update.is_older("45 sources about otters, not 52 sources")
    assert not update.is_older("An uncle has 45 sources.")
    assert update_of(chat.questions[1]) is None


def test_the_sentence_that_counts_shares_words_with_the_question(chat: BeamChat) -> None:
    """It is looked for as words; two words are too few."""
    assert key_sentence(chat.questions[1].evidence[1], chat.questions[1]) == SAID[8]
    assert is_part("- rowed the RED boat (2024-03-15)", SAID[8])
    assert not is_part("red boat", SAID[8])


async def test_a_memory_that_keeps_everything(chat: BeamChat) -> None:
    """All evidence is recalled, and the old value stands unmarked beside the new one."""
    found = counted(await measured(chat, keeps=True))

    assert found["knowledge update: evidence stored"] == (2, 2)
    assert found["contradiction resolution: evidence in 600 characters"] == (2, 2)
    assert found["preference following: evidence in 8000 characters"] == (1, 1)
    assert found["newest value in 1500 characters"] == (1, 1)
    assert found["old value alone in 1500 characters"] == (0, 1)
    assert found["old value beside the newest, unmarked, in 1500 characters"] == (1, 1)
    assert found["updates: both statements stored"] == (1, 1)
    assert found["updates: applied, if both are stored"] == (0, 1)
    assert "updates: earlier statement found, if both are stored" not in found  # nobody watched


async def test_a_memory_that_keeps_nothing(chat: BeamChat) -> None:
    """Nothing is recalled, and nothing could be found or decided."""
    found = counted(await measured(chat, keeps=False))

    assert found["knowledge update: evidence stored"] == (0, 2)
    assert found["newest value in 8000 characters"] == (0, 1)
    assert found["updates: both statements stored"] == (0, 1)
    assert "updates: applied, if both are stored" not in found


@pytest.mark.embedded_only
@pytest.mark.slow
async def test_finding_and_deciding_are_told_apart(database: Database, chat: BeamChat) -> None:
    """With the built-in planner, which files what it is told; a second run gives the same figures."""
    watch = CandidateWatch(evidence_texts([chat]))
    filing = Service(database, max_files=1_000, planning=watch.planners(), keeps_journal=False)
    service = MemexAdapter(filing)
    figures = measure_chat(await play_chat(chat, service, watch))
    found = counted(figures)

    assert found["updates: both statements stored"] == (1, 1)
    assert found["updates: earlier statement found, if both are stored"] == (1, 1)
    assert found["updates: applied or named as rivals, if found"] == (1, 1)
    assert found["newest value in 600 characters"] == (1, 1)
    assert watch.found("never said") is None
    assert measure_chat(await play_chat(chat, service, watch)) == figures
