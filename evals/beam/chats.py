"""The chats of BEAM with the questions about what changed, what contradicts and what the user prefers."""

import gzip
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memex.errors import ValidationFailed
from memex.evals.retrieval.datasets import VARIABLE

ABILITIES = ("knowledge_update", "contradiction_resolution", "preference_following")
SIZES = ("100K", "500K")
FIRST_DAY = datetime(2024, 1, 1, 9, tzinfo=UTC)  # of a chat that names no day
BETWEEN = timedelta(minutes=1)  # two messages


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A message of the user, and when it was sent."""

    id: int
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class BeamQuestion:
    """A question. `evidence` holds the messages of the user that answer it, in their order."""

    id: str
    ability: str
    text: str
    answer: str
    evidence: tuple[UserMessage, ...]


@dataclass(frozen=True, slots=True)
class BeamChat:
    """The user's side of a chat, and the questions that are asked after it."""

    name: str
    messages: tuple[UserMessage, ...]
    questions: tuple[BeamQuestion, ...]


def load_beam(root: Path, size: str, abilities: Collection[str] = ABILITIES) -> list[BeamChat]:
    """Return the chats of one size, such as `100K`, with the questions that test one of the abilities.

    Raises:
        ValidationFailed: the folder has none, or a file is no chat.
    """
    paths = sorted((root / "beam").glob(f"beam-{size}-*.json.gz"))
    if not paths:
        raise ValidationFailed(
            f"{VARIABLE} has no beam/beam-{size}-*.json.gz.", hint="Get the data set, or choose another size."
        )
    return [_load_chat(path, abilities) for path in paths]


def _load_chat(path: Path, abilities: Collection[str]) -> BeamChat:
    try:
        published = json.loads(gzip.decompress(path.read_bytes()))
        return _to_chat(path.name.removesuffix(".json.gz"), published, abilities)
    except (OSError, EOFError, ValueError, LookupError, TypeError) as error:
        raise ValidationFailed(f"{path} is no chat of BEAM: {error!r}.") from None


def _to_chat(name: str, published: Mapping[str, Any], abilities: Collection[str]) -> BeamChat:
    messages: dict[int, UserMessage] = {}
    at = FIRST_DAY
    for message in published["messages"]:
        at = max(at + BETWEEN, _anchor(message.get("time_anchor")) or at)
        if message["role"] == "user" and message["content"].strip():
            messages[message["id"]] = UserMessage(message["id"], message["content"], at)
    questions = [
        BeamQuestion(
            row["qid"],
            row["ability"],
            row["question"],
            row["answer"],
            tuple(messages[named] for named in sorted(set(row["evidence_ids"])) if named in messages),
        )
        for row in published["questions"]
        if row["ability"] in abilities
    ]
    return BeamChat(
        name, tuple(messages.values()), tuple(question for question in questions if question.evidence)
    )


def _anchor(written: str | None) -> datetime | None:
    """Return the morning of the day that a time anchor such as `March-15-2024` names."""
    return datetime.strptime(written, "%B-%d-%Y").replace(hour=9, tzinfo=UTC) if written else None
