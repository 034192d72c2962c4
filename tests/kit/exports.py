"""Exports of conversations: files in memory, and all that readers make of them."""

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memex.sources.conversations.files import ExportFile
from memex.sources.conversations.formats.readers import reader_of
from memex.sources.conversations.places import Survey, survey
from memex.sources.conversations.reader import ReadableFile
from memex.sources.conversations.reading import read
from memex.sources.conversations.records import Include, ReadConversation, ReadMessage, ReadReport

EVERYTHING = Include(tools=True, reasoning=True, attachments=True, sidechains=True)


@dataclass(slots=True)
class Reading:
    """What readers made of an export: conversations with their messages, and what they left out."""

    kinds: list[str]
    conversations: list[tuple[ReadConversation, list[ReadMessage]]]
    report: ReadReport
    survey: Survey

    @property
    def messages(self) -> list[ReadMessage]:
        """Return the messages of all conversations."""
        return [message for _, messages in self.conversations for message in messages]

    @property
    def counts(self) -> list[tuple[int, int]]:
        """Return how many messages the person and the assistant have on the path of each conversation."""
        return [
            (
                sum(message.role == "user" for message in messages if is_said(message)),
                sum(message.role == "assistant" for message in messages if is_said(message)),
            )
            for _, messages in self.conversations
        ]

    @property
    def reasons(self) -> set[str]:
        """Return the reasons for which something was left out or could not be read."""
        skips = (*self.survey.skips, *self.report.skips, *self.report.unreadable)
        return {skip.reason for skip in skips} | set(self.report.skipped)


def is_said(message: ReadMessage) -> bool:
    """Return whether a message is one of the branch that the person sees, and no further part."""
    return message.on_path and message.part == "message"


def said(messages: list[ReadMessage]) -> list[tuple[str, str]]:
    """Return role and text of messages."""
    return [(message.role, message.text) for message in messages]


def json_lines(*objects: Any) -> bytes:
    """Return objects as JSON lines."""
    return b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in objects)


def as_file(content: bytes, name: str = "export") -> ExportFile:
    """Return a file in memory."""
    return ExportFile(name, lambda: io.BytesIO(content))


def read_file(content: bytes, include: Include = Include(), name: str = "export") -> Reading:  # noqa: B008
    """Return what the reader that recognises a file makes of it."""
    return read_paths_of([as_file(content, name)], include)


def read_paths_of(files: list[ExportFile], include: Include) -> Reading:
    """Return what readers make of files in memory that do not know of one another."""
    from memex.sources.conversations.places import Found

    found = []
    for file in files:
        reader, _ = reader_of(file)
        assert reader is not None, f"{file.name} is not recognised"
        found.append(Found(ReadableFile(file), reader))
    return _read(Survey(found, [], len(files)), include)


def read_tree(folder: Path, files: Mapping[str, bytes], include: Include = Include()) -> Reading:  # noqa: B008
    """Write files into a folder, and return what a survey finds in it."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return read_path(folder, include)


def read_path(path: Path, include: Include = Include()) -> Reading:  # noqa: B008
    """Return what a survey of a path finds, read."""
    with survey([path]) as found:
        return _read(found, include)


def _read(found: Survey, include: Include) -> Reading:
    report = ReadReport()
    conversations = [
        (conversation, list(conversation.messages))
        for file in found.found
        for conversation in read(file, include, report)
    ]
    for _, messages in conversations:
        check(messages)
    return Reading([file.reader.kind for file in found.found], conversations, report, found)


def check(messages: list[ReadMessage]) -> None:
    """Check what holds for the messages of every conversation."""
    keys = {message.key for message in messages}
    assert len(keys) == len(messages), "a key stands twice"
    for message in messages:
        assert message.text.strip(), "a text is blank"
        assert "\0" not in message.text
        message.text.encode()
        assert message.parent is None or message.parent in keys, "a parent is not among the messages"
        assert not message.origin.startswith("/")
        assert not message.human_authored or message.role == "user"
