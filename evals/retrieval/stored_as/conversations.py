"""Suites played as conversations: each turn is a message, and each session a conversation."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from memex.evals.retrieval.runs import QuestionOutcome
from memex.evals.retrieval.suites import Collection, Question, Reader, beam_all, beam_user, locomo_turns
from memex.service.conversations import finding, putting
from memex.service.conversations.putting import ConversationInput, SourceInput
from memex.service.service import Caller, Service
from memex.store.conversations.ingest import MAX_MESSAGES
from memex.store.search.find import MAX_HITS

SUITES: dict[str, tuple[Reader, ...]] = {
    "locomo": (locomo_turns,),
    "beam": (beam_user, beam_all),
    "beam-500k": (partial(beam_user, size="500K"), partial(beam_all, size="500K")),
}
SOURCE = SourceInput(kind="eval")

_FILE = re.compile(r"---\ndate: (?P<day>[0-9-]+)\n---\n(?P<dated>.*)|(?P<undated>.*)", re.DOTALL)
_ROLE = re.compile(r"(?P<role>user|assistant): ")


async def write_messages(
    service: Service, caller: Caller, collection: Collection, on_messages: Callable[[int], None]
) -> None:
    """Store the files of a collection as messages, through the service; `on_messages` is told how many."""
    batch: list[ConversationInput] = []
    for conversation in [*conversations_of(collection), None]:
        size = sum(len(batched.messages) for batched in batch)
        if batch and (conversation is None or size + len(conversation.messages) > MAX_MESSAGES):
            await putting.put(service, caller, SOURCE, batch)
            on_messages(size)
            batch = []
        if conversation is not None:
            batch.append(conversation)


def conversations_of(collection: Collection) -> Iterator[ConversationInput]:
    """Yield the folders of a collection as conversations, with their files as messages in the order of their names.

    A message has the path of its file as its id. Where the text names no role, the speaker who begins is the user.
    """
    folders: dict[str, list[str]] = {}
    for path in sorted(collection.files):
        folders.setdefault(path.rpartition("/")[0], []).append(path)
    for folder, paths in folders.items():
        messages = [_message(path, collection.files[path]) for path in paths]
        first = messages[0]["speaker"]
        for message in messages:
            is_user = message.pop("speaker") == first
            message["role"] = message["role"] or ("user" if is_user else "assistant")
        yield ConversationInput.model_validate({"id": folder, "messages": messages}, strict=False)


async def ask_question(service: Service, caller: Caller, question: Question) -> QuestionOutcome:
    """Return the ranks that conversation_find gives the messages which answer a question."""
    found = await finding.FIND.call(service, caller, {"query": question.text, "limit": MAX_HITS})
    ranks = {hit.message.provider_id: rank for rank, hit in enumerate(found.hits, start=1)}
    return QuestionOutcome(
        id=question.id,
        kinds=question.kinds,
        ranks=tuple(ranks.get(path) for path in question.relevant),
        contexts={},
    )


def _message(path: str, content: str) -> dict[str, Any]:
    file = _FILE.fullmatch(content)
    if file is None:
        raise ValueError(f"{path} is no rendered turn")
    text = (file["dated"] or file["undated"]).strip()
    named = _ROLE.match(text)
    return {
        "id": path,
        "role": named["role"] if named else None,
        "speaker": text.partition(":")[0],
        "text": text[named.end() :] if named else text,
        "said_at": f"{file['day']}T00:00:00Z" if file["day"] else None,
    }
