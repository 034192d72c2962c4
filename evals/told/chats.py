"""The texts that people said and the questions about them, of the data sets BEAM and LoCoMo."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from memex.evals.beam.chats import BeamChat, load_beam
from memex.evals.retrieval.datasets import PublishedConversation, Turn, load_conversations
from memex.evals.told.questions import ToldChat, ToldQuestion
from memex.evals.told.recall import document_frequencies, key_sentence
from memex.subagent.remember.stage import MAX_TEXT_CHARS

GROUPS = {
    "contradiction_resolution": "contradiction",
    "information_extraction": "factual",
    "instruction_following": "instruction",
    "knowledge_update": "update",
    "multi_session_reasoning": "factual",
    "preference_following": "preference",
    "temporal_reasoning": "factual",
}  # by the ability that a question of BEAM tests; questions of the other abilities are not asked


@dataclass(frozen=True, slots=True)
class ToldSet:
    """A data set: its name, how it is told, how it is read, and the budgets of its contexts in characters."""

    title: str
    form: str
    load: Callable[[Path], list[ToldChat]]
    budgets: tuple[int, ...]


def load_beam_chats(root: Path) -> list[ToldChat]:
    """Return the chats of BEAM of 100,000 tokens; each message of the user is told.

    Raises:
        ValidationFailed: the folder has no such chats.
    """
    return [_of_beam(chat) for chat in load_beam(root, "100K", tuple(GROUPS))]


def load_locomo_chats(root: Path) -> list[ToldChat]:
    """Return the conversations of LoCoMo; each turn of both speakers is told.

    Raises:
        ValidationFailed: the folder has no such conversations.
    """
    return [_of_locomo(conversation) for conversation in load_conversations(root)]


SETS = {
    "beam": ToldSet("BEAM", "by user messages", load_beam_chats, (600, 1_500, 4_000, 8_000)),
    "locomo": ToldSet("LoCoMo", "turn by turn", load_locomo_chats, (600, 1_500, 2_000, 4_000, 8_000)),
}


def as_log(chat: ToldChat) -> ToldChat:
    """Return a chat that is told as a log: a line a text, in one text, or in as few as the service takes."""
    return replace(chat, texts=tuple(_logs(" ".join(text.split()) for text in chat.texts)))


def _logs(lines: Iterator[str]) -> Iterator[str]:
    log: list[str] = []
    chars = 0
    for line in lines:
        if log and chars + len(line) > MAX_TEXT_CHARS:
            yield "\n".join(log)
            log, chars = [], 0
        log.append(line)
        chars += len(line) + len("\n")
    yield "\n".join(log)


def _of_beam(chat: BeamChat) -> ToldChat:
    texts = tuple(message.text for message in chat.messages)
    df = document_frequencies(texts)
    questions = []
    for asked in chat.questions:
        wanted = f"{asked.text} {asked.answer}"
        evidence = tuple(key_sentence(message.text, wanted, df, len(texts)) for message in asked.evidence)
        questions.append(ToldQuestion(GROUPS[asked.ability], asked.text, evidence))
    return ToldChat(chat.name.lower(), texts, tuple(questions))


def _of_locomo(conversation: PublishedConversation) -> ToldChat:
    turns = {turn.id: turn for session in conversation.sessions for turn in session.turns}
    questions = tuple(
        ToldQuestion(", ".join(asked.kinds), asked.text, tuple(_said(turns[id_]) for id_ in asked.evidence))
        for asked in conversation.asked
    )
    texts = tuple(f"{turn.speaker}: {_said(turn)}" for turn in turns.values())
    return ToldChat(conversation.id, texts, questions)


def _said(turn: Turn) -> str:
    return f"{turn.text} [{turn.caption}]" if turn.caption else turn.text
