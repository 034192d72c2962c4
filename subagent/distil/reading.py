"""Messages of conversations, read: what each states, and on which day it was written."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

from memex.errors import LimitExceeded
from memex.store.citations.syntax import CitedPlace
from memex.store.search.analyzer import Analyzer
from memex.store.text_pool import offload
from memex.store.text_pool.portions import portions
from memex.subagent.distil.message_text import TextReading, read_texts, too_long
from memex.subagent.planner import SaidMessage
from memex.subagent.remember.forgetting import ForgetPlan, stated_beside
from memex.subagent.remember.recalled import recalled_spans
from memex.subagent.statements.bullets import UNDATED
from memex.subagent.statements.extraction import SkippedSpan, Statement

MAX_STATEMENTS = 800  # that one call takes from messages; for each of them memory is searched
BATCH_CHARS = 64 << 10  # of messages that are read together
EARLIEST = date(1900, 1, 1)
TOLERANCE = timedelta(minutes=10)  # by which the clock of a provider may be ahead


@dataclass(frozen=True, slots=True)
class HumanMessage:
    """A message that a person wrote in a conversation.

    Attributes:
        place: the conversation, and the number of the message.
        text: all of it.
        sha256: its digest.
        said_at: when it was written; None if nobody knows that.
    """

    place: CitedPlace
    text: str
    sha256: bytes
    said_at: datetime | None

    @property
    def said_at_s(self) -> float:
        """The time that orders messages of one day, in seconds; 0 if nobody knows it."""
        return self.said_at.timestamp() if self.said_at else 0.0

    def day(self, now: datetime) -> date:
        """Return the day on which it was written; `UNDATED` without a time, and for one that cannot be true."""
        if self.said_at is None or self.said_at > now + TOLERANCE:
            return UNDATED
        day = self.said_at.astimezone(UTC).date()
        return day if day >= EARLIEST else UNDATED


@dataclass(frozen=True, slots=True)
class MessageReading:
    """A message, the day on which it was written, what it states, and what of it is skipped."""

    message: HumanMessage
    said: SaidMessage
    statements: tuple[Statement, ...]
    skipped: tuple[SkippedSpan, ...]


async def read_messages(
    messages: Sequence[HumanMessage], now: datetime, analyzer: Analyzer
) -> list[MessageReading]:
    """Return what messages state, until there are `MAX_STATEMENTS`; the messages after that are left out."""
    found: list[MessageReading] = []
    left = MAX_STATEMENTS
    # Together they cost less than to send each to a process.
    for batch in portions(messages, lambda message: len(message.text), BATCH_CHARS):
        for message, reading in zip(batch, await _read(batch, now), strict=True):
            extraction = reading.extraction
            if reading.request is not None:  # it is not obeyed; what repeats it is no statement
                extraction = stated_beside(extraction, reading.request, ForgetPlan(), analyzer)
            if found and len(extraction.statements) > left:
                return found
            over = [
                SkippedSpan(statement.start, statement.end, "limit")
                for statement in extraction.statements[left:]
            ]
            statements = extraction.statements[:left]
            left -= len(statements)
            said = SaidMessage(message.place, message.day(now))
            found.append(MessageReading(message, said, statements, (*extraction.skipped, *over)))
    return found


def without_lines(message: MessageReading, lines: Collection[str]) -> MessageReading:
    """Return a message without the statements that are lines of pages; see `recalled.repeated_lines`."""
    spans = recalled_spans(message.message.text, lines)
    kept = tuple(
        statement
        for statement in message.statements
        if not any(start < statement.end and statement.start < end for start, end in spans)
    )
    gone = [
        SkippedSpan(statement.start, statement.end, "recalled")
        for statement in message.statements
        if statement not in kept
    ]
    return replace(message, statements=kept, skipped=(*message.skipped, *gone))


async def _read(batch: Sequence[HumanMessage], now: datetime) -> list[TextReading]:
    """Return what the texts of messages state; a text that takes too long to be read states nothing."""
    texts = [(message.text, message.day(now)) for message in batch]
    try:
        return await offload.run(sum(len(text) for text, _ in texts), read_texts, texts)
    except LimitExceeded:
        if len(batch) == 1:
            return [too_long(batch[0].text)]
    return [reading for message in batch for reading in await _read([message], now)]
