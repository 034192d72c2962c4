"""Reading what a survey found: every break in a file is named, and what stands before it is given."""

from collections.abc import Iterator
from dataclasses import replace

from memex.sources.conversations.places import Found
from memex.sources.conversations.reader import ResumingReader, is_valid
from memex.sources.conversations.records import Bookmark, Include, ReadConversation, ReadMessage, ReadReport
from memex.sources.zips import BROKEN


def read(
    found: Found, include: Include, report: ReadReport, bookmark: Bookmark | None = None
) -> Iterator[ReadConversation]:
    """Yield the conversations of a file, and count them and their messages.

    Nothing raises: a file that vanishes, breaks off or is damaged is named in the report. A conversation that
    was not read to its end stands in `report.incomplete`.

    Args:
        found: the file.
        include: what is read beside what people and assistants said.
        report: what is counted and named.
        bookmark: of an earlier run over the file (`report.bookmark`). If the file has only grown, and what was
            added changes nothing that was given before, only that is given, in a conversation that `continues`.
    """
    name = found.source.file.name
    conversations = _read_on(found, include, report, bookmark)
    while True:
        try:
            conversation = next(conversations)
        except StopIteration:
            return
        except BROKEN as error:
            report.damage("broken_file", name, f"The file cannot be read on: {_reason(error)}.")
            return
        report.conversations += 1
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
    messages = iter(conversation.messages)
    while True:
        try:
            message = next(messages)
        except StopIteration:
            return
        except BROKEN as error:
            report.damage("broken_file", name, f"The file cannot be read on: {_reason(error)}.")
            report.incomplete.append(conversation.key)
            return
        report.messages += 1
        yield message


def _reason(error: BaseException) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
