"""Generated exports and transcripts, and what they hold."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memex.evals.bench.workbench import RandomText

WORDS_A_MESSAGE = 80  # some 500 characters
MESSAGES_A_CONVERSATION = 50
FIRST_DAY = datetime(2025, 1, 1, tzinfo=UTC)
PERIOD = timedelta(days=365)

Row = tuple[datetime, str, str]  # time, role and text of a message


@dataclass(frozen=True, slots=True)
class Corpus:
    """An export of ChatGPT, and its messages in a file beside it: they are not held in memory."""

    path: Path
    messages: int
    text_bytes: int

    @property
    def rows_path(self) -> Path:
        """The file of the messages."""
        return self.path.with_suffix(".rows")

    def rows(self) -> Iterator[Row]:
        """Yield time, role and text of each message, in their order."""
        with self.rows_path.open(encoding="utf-8") as file:
            for line in file:
                said_at, role, words = line.rstrip("\n").split("\t")
                yield datetime.fromisoformat(said_at), role, words

    def texts(self, every: int = 1) -> list[str]:
        """Return the text of every so many messages."""
        return [words for place, (_, _, words) in enumerate(self.rows()) if place % every == 0]


def write_export(text: RandomText, path: Path, messages: int) -> Corpus:
    """Write an export of ChatGPT with so many messages, spread over a year, and return what it holds."""
    text_bytes = 0
    rows_path = path.with_suffix(".rows")
    with path.open("w", encoding="utf-8") as file, rows_path.open("w", encoding="utf-8") as rows:
        for number, (conversation, said) in enumerate(_conversations(text, messages)):
            file.write(("," if number else "[") + json.dumps(conversation))
            for said_at, role, words in said:
                rows.write(f"{said_at.isoformat()}\t{role}\t{words}\n")
                text_bytes += len(words.encode())
        file.write("]")
    return Corpus(path, messages, text_bytes)


def _conversations(text: RandomText, messages: int) -> Iterator[tuple[dict[str, Any], list[Row]]]:
    for start in range(0, messages, MESSAGES_A_CONVERSATION):
        count = min(MESSAGES_A_CONVERSATION, messages - start)
        said = [
            (
                FIRST_DAY + PERIOD * ((start + place) / messages),
                "assistant" if place % 2 else "user",
                " ".join(text.words(WORDS_A_MESSAGE)),
            )
            for place in range(count)
        ]
        yield _conversation(f"conversation-{start}", " ".join(text.words(4)), said), said


def _conversation(provider_id: str, title: str, said: list[Row]) -> dict[str, Any]:
    mapping = {
        f"m{place}": {
            "id": f"m{place}",
            "parent": f"m{place - 1}" if place else None,
            "children": [f"m{place + 1}"] if place + 1 < len(said) else [],
            "message": {
                "id": f"{provider_id}-{place}",
                "author": {"role": role},
                "create_time": said_at.timestamp(),
                "content": {"content_type": "text", "parts": [words]},
                "weight": 1.0,
                "recipient": "all",
                "metadata": {"model_slug": "a-model"},
            },
        }
        for place, (said_at, role, words) in enumerate(said)
    }
    newest = said[-1][0].timestamp()
    return {
        "id": provider_id,
        "title": title,
        "create_time": newest,
        "update_time": newest,
        "mapping": mapping,
        "current_node": f"m{len(said) - 1}",
    }


def write_transcript(text: RandomText, path: Path, size_bytes: int) -> int:
    """Write a transcript of Claude Code of that size, nine tenths of it output of tools; return its lines."""
    output = " ".join(text.words(4_000))
    lines = 0
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < size_bytes:
            lines += append_turn(text, file.write, lines, output)
    return lines


def append_turn(text: RandomText, write: Any, number: int, output: str) -> int:
    """Write what a person says, the output of a tool and an answer, from a line's number on; return 3 lines."""
    words = [" ".join(text.words(WORDS_A_MESSAGE)) for _ in range(2)]
    result = [{"type": "tool_result", "tool_use_id": f"t{number}", "content": output}]
    answer = {
        "role": "assistant",
        "id": f"a{number}",
        "model": "a-model",
        "content": [{"type": "text", "text": words[1]}],
    }
    messages: list[tuple[str, dict[str, Any]]] = [
        ("user", {"role": "user", "content": words[0]}),
        ("user", {"role": "user", "content": result}),
        ("assistant", answer),
    ]
    for place, (kind, message) in enumerate(messages, start=number):
        said_at = FIRST_DAY + timedelta(seconds=place)
        line = {
            "parentUuid": f"u{place - 1}" if place else None,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/project",
            "sessionId": "session",
            "version": "2.0.0",
            "type": kind,
            "message": message,
            "uuid": f"u{place}",
            "timestamp": said_at.isoformat().replace("+00:00", "Z"),
        }
        write(json.dumps(line) + "\n")
    return len(messages)


def write_rollout(text: RandomText, path: Path, size_bytes: int) -> int:
    """Write a rollout of Codex of that size, nearly all of it lines with pictures; return its messages."""
    picture = '{"timestamp":"t","type":"compacted","payload":{"image_url":"' + "A" * 4_000_000 + '"}}\n'
    messages = written = 0
    with path.open("w", encoding="utf-8") as file:
        written += file.write('{"type":"session_meta","payload":{"id":"thread"}}\n')
        while written < size_bytes:
            for place in range(100):
                kind = "agent_message" if place % 2 else "user_message"
                payload = {"type": kind, "message": " ".join(text.words(WORDS_A_MESSAGE))}
                said_at = (FIRST_DAY + timedelta(seconds=messages)).isoformat().replace("+00:00", "Z")
                written += file.write(
                    json.dumps({"timestamp": said_at, "type": "event_msg", "payload": payload}) + "\n"
                )
                messages += 1
            written += file.write(picture)
    return messages
