"""Reading what a survey found: every break in a file is named, and what stands before it is given."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from memex.sources.conversations.places import Found
from memex.sources.conversations.reader import ResumingReader, is_valid
from memex.sources.conversations.records import Bookmark, Include, ReadConversation, ReadMessage, ReadReport
from memex.sources.zips import BROKEN, reason_of

T = TypeVar("T")


def read(
    found: Found, include: Include, report: ReadReport, bookmark: Bookmark | None = None
) -> Iterator[ReadConversation]:
    """Yield the conversations of a file, and count their messages.

    Nothing raises: a file that vanishes, breaks off or is damaged is named in the report. A conversation that
    was not read to its end stands in `report.incomplete`.

    `bookmark` is that of an earlier run (`report.bookmark`). If the file has only grown since, and what was added
    changes nothing that was given before, only that is given, in a conversation that `continues`.
    """
    name = found.source.file.name
    for conversation in _until_broken(_read_on(found, include, report, bookmark), name, report):
        yield replace(conversation, messages=_messages(conversation, name, report))


def _read_on(
    found: Found, include: Include, report: ReadReport, bookmark: Bookmark | None
) -> Iterator[ReadConversation]:
    reader = found.reader
    if (
        bookmark is not None
        and isinstance(reader, ResumingReader)
        and is_valid(bookmark, reader, found.source.file, include)
        and (conversation := reader.read_on(found.source, bookmark, include, report)) is not None
    ):
        yield conversation
        return
    yield from reader.read(found.source, include, report)


def _messages(conversation: ReadConversation, name: str, report: ReadReport) -> Iterator[ReadMessage]:
    before = report.messages
    for message in _until_broken(conversation.messages, name, report, conversation.key):
        report.messages += 1
        report.given_up += not message.on_path
        yield message
    if report.messages == before and not conversation.continues and conversation.key not in report.incomplete:
        named = conversation.title or conversation.key
        report.skip("empty_conversation", name, f"The conversation {named[:100]!r} holds no message.")


def _until_broken(
    values: Iterable[T], name: str, report: ReadReport, incomplete: str | None = None
) -> Iterator[T]:
    """Yield what is read before a file breaks; the break is named in the report."""
    try:
        yield from values
    except BROKEN as error:
        report.damage("broken_file", name, f"The file cannot be read on: {reason_of(error)}.")
        report.incomplete += [] if incomplete is None else [incomplete]
