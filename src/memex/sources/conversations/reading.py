"""Reading what a survey found: every break in a file is named, and what stands before it is given."""

from collections.abc import Iterator
from dataclasses import replace

from memex.sources.conversations.places import Found
from memex.sources.conversations.records import Include, ReadConversation, ReadMessage, ReadReport
from memex.sources.zips import BROKEN


def read(found: Found, include: Include, report: ReadReport) -> Iterator[ReadConversation]:
    """Yield the conversations of a file, and count them and their messages.

    Nothing raises: a file that vanishes, breaks off or is damaged is named in the report. A conversation that
    was not read to its end stands in `report.incomplete`.
    """
    name = found.source.file.name
    conversations = found.reader.read(found.source, include, report)
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
