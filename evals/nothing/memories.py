"""Memories of several sizes, with the questions that each can answer: chats, stretches of chats, and lives."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from memex.evals.beam.chats import load_beam
from memex.evals.lives.life import SEALED_SUFFIX, Life, load_life, shipped_lives
from memex.evals.retrieval.datasets import load_conversations
from memex.evals.told.chats import GROUPS, load_beam_chats, load_locomo_chats
from memex.evals.told.questions import ToldChat, ToldQuestion

BEAM_MESSAGES = 2  # of a short stretch
LOCOMO_TURNS = 8
BEAM_STRETCHES = 4  # of a chat
LOCOMO_STRETCHES = 12


@dataclass(frozen=True, slots=True)
class Stretch:
    """Texts told one after the other, and the questions whose evidence stands in them alone."""

    texts: tuple[str, ...]
    questions: tuple[ToldQuestion, ...]


def short_memories(root: Path) -> list[ToldChat]:
    """Return stretches of chats as memories of their own: two messages of BEAM, eight turns of LoCoMo."""
    found = []
    for told, chat in zip(load_beam_chats(root), load_beam(root, "100K", tuple(GROUPS)), strict=True):
        places = {message.id: at for at, message in enumerate(chat.messages)}
        evidence = [{places[message.id] for message in asked.evidence} for asked in chat.questions]
        found += _as_chats(told, stretches(told, evidence, BEAM_MESSAGES, BEAM_STRETCHES))
    for told, talk in zip(load_locomo_chats(root), load_conversations(root), strict=True):
        turns = [turn.id for session in talk.sessions for turn in session.turns]
        evidence = [{turns.index(turn) for turn in asked.evidence} for asked in talk.asked]
        found += _as_chats(told, stretches(told, evidence, LOCOMO_TURNS, LOCOMO_STRETCHES))
    return found


def stretches(chat: ToldChat, evidence: Sequence[set[int]], texts: int, most: int) -> list[Stretch]:
    """Return at most so many stretches of so many texts, those with most questions first.

    Args:
        chat: with the questions.
        evidence: for each question, the places of the texts that answer it.
        texts: of a stretch.
        most: stretches.
    """
    left = {at: places for at, places in enumerate(evidence) if places}
    found = []
    for _ in range(most):
        starts = range(max(1, len(chat.texts) - texts + 1))
        best = max(starts, key=lambda start: len(_inside(left, start, start + texts)))
        inside = _inside(left, best, best + texts)
        if not inside:
            break
        found.append(Stretch(chat.texts[best : best + texts], tuple(chat.questions[at] for at in inside)))
        for at in inside:
            del left[at]
    return found


def lives(_: Path) -> list[ToldChat]:
    """Return the open English lives; the evidence of a question is what its expected facts say."""
    paths = [path for path in shipped_lives() if not path.name.endswith(SEALED_SUFFIX)]
    return [_of_life(life) for path in paths if (life := load_life(path)).content.language == "en"]


SETS: dict[str, Callable[[Path], list[ToldChat]]] = {
    "short": short_memories,
    "lives": lives,
    "beam": load_beam_chats,
    "locomo": load_locomo_chats,
}


def _inside(evidence: dict[int, set[int]], start: int, end: int) -> list[int]:
    return [at for at, places in evidence.items() if min(places) >= start and max(places) < end]


def _as_chats(chat: ToldChat, found: Sequence[Stretch]) -> list[ToldChat]:
    return [ToldChat(f"{chat.user_id}-{at}", one.texts, one.questions) for at, one in enumerate(found)]


def _of_life(life: Life) -> ToldChat:
    questions = tuple(
        ToldQuestion(
            "life", question.text, tuple(" ".join(life.facts[fact].keys) for fact in question.expected)
        )
        for question in life.content.questions
        if question.expected
    )
    return ToldChat(life.name, tuple(text.text for text in life.content.texts), questions)
