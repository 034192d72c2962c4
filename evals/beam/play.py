"""Playing a chat of BEAM: each message of the user is remembered, and the questions are asked at the end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from memex.evals.adapter import MemoryService, Placed
from memex.evals.beam.chats import BeamChat, BeamQuestion, UserMessage
from memex.evals.lives.candidates import CandidateWatch
from memex.evals.lives.play import USER, Unit, context_units, units_of
from memex.service.evals.states import Manifest, State

BUDGETS = (600, 1_500, 8_000)
AFTERWARDS = timedelta(hours=1)  # the questions are asked


@dataclass(frozen=True, slots=True)
class PlayedMessage:
    """A message with what memory held before and after it.

    Attributes:
        before: the entries of all files before it.
        after: those after it.
        rivals: the stored statements that the answer names as contradicted.
        candidates: the stored statements that search found for it; None if nobody watched.
    """

    message: UserMessage
    before: Sequence[Unit]
    after: Sequence[Unit]
    rivals: tuple[str, ...]
    candidates: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question with the entries of its contexts, by budget."""

    question: BeamQuestion
    contexts: Mapping[int, Sequence[Unit]]


@dataclass(frozen=True, slots=True)
class PlayedChat:
    """A chat with the messages that are evidence of a question, by id, and the questions."""

    chat: BeamChat
    messages: Mapping[int, PlayedMessage]
    questions: Sequence[AskedQuestion]


def evidence_texts(chats: Sequence[BeamChat]) -> set[str]:
    """Return the messages that are evidence of a question: what a watch looks at."""
    return {message.text for chat in chats for question in chat.questions for message in question.evidence}


async def play_chat(
    chat: BeamChat, service: MemoryService, watch: CandidateWatch | None = None
) -> PlayedChat:
    """Play a chat to a service, from an empty memory."""
    manifest = Manifest(
        name="beam",
        purpose="Nothing is known yet.",
        language="english",
        at=chat.messages[0].at,
        users=(USER,),
    )
    evidence = {piece.id for question in chat.questions for piece in question.evidence}
    played: dict[int, PlayedMessage] = {}
    async with service.place(State(Path(), manifest, {})) as memory:
        for message in chat.messages:
            if message.id in evidence:
                played[message.id] = await _watched(memory, message, watch)
            else:
                await _remember(memory, message)
        asked = [await _ask(memory, question, chat) for question in chat.questions]
    return PlayedChat(chat, played, asked)


async def _watched(memory: Placed, message: UserMessage, watch: CandidateWatch | None) -> PlayedMessage:
    before = await _units(memory)
    trace = await _remember(memory, message)
    return PlayedMessage(
        message,
        before,
        await _units(memory),
        tuple(rival["older"] for rival in trace.get("rivals", ())),
        watch.found(message.text) if watch is not None else None,
    )


async def _remember(memory: Placed, message: UserMessage) -> Mapping[str, Any]:
    return (await memory.remember(USER, message.text, project=None, now=message.at)).trace


async def _ask(memory: Placed, question: BeamQuestion, chat: BeamChat) -> AskedQuestion:
    now = chat.messages[-1].at + AFTERWARDS
    contexts = {}
    for budget in BUDGETS:
        answer = await memory.context(USER, question.text, budget=budget, project=None, max_hops=1, now=now)
        contexts[budget] = context_units(answer.context)
    return AskedQuestion(question, contexts)


async def _units(memory: Placed) -> list[Unit]:
    return units_of({**(await memory.files(USER) or {}), **await memory.journal(USER)})
