"""A chat model reads sessions for work, in the background or when somebody asks for it; no other call waits for it.

Each call shows the model consecutive messages of one session, and stores which spans it named. What the model has
answered once is never asked again, so that observations can be made anew from what is stored.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import structlog

from memex.errors import MemexError, ModelUnavailable, ValidationFailed
from memex.service.call import Caller, check_role
from memex.service.service import Service
from memex.service.snapshots import LiveSnapshots, MemoryView
from memex.service.spending import SPENT, TenantSpending
from memex.service.work.loading import derive_missing
from memex.store.log.call import Call, CallAnswer
from memex.store.work.answers import (
    MessageAnswer,
    UnansweredMessage,
    known_answers,
    put_answers,
    recent_users,
    unanswered_messages,
)
from memex.store.work.observations import find_sessions
from memex.subagent.limits import ModelFailure
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.work.answers import answer_digest
from memex.subagent.work.records import WorkAuthor
from memex.subagent.work.turns import MAX_TURN_CHARS

if TYPE_CHECKING:
    from memex.subagent.model.observing.quotations import CheckedAnswer
    from memex.subagent.model.observing.reader import WorkReader

NAME = "work_read"
RECENT = timedelta(days=30)  # in the background, sessions are read that went on since then
MAX_TRIES = 5  # of a message about which the model gives no answer that can be used
LOOKED_AT = 100  # messages at once, of which those that fit are shown

# The model answered, and not so that the answer can be used: the same messages may never be answered.
_UNUSABLE = frozenset(
    {
        ModelFailure.WRONG_FORM,
        ModelFailure.UNKNOWN_FORM,
        ModelFailure.CONTENT_FILTER,
        ModelFailure.NOTHING_APPLICABLE,
        *(f"its server answered {status}" for status in (400, 413, 422)),
    }
)
_LIMIT = "the call's limit of "  # how the reason begins if a limit of the call was used up

_log = structlog.get_logger("memex.work")


@dataclass(frozen=True, slots=True)
class WindowRead:
    """The outcome of a model's reading of consecutive messages of a session.

    Attributes:
        messages: about which the model has answered, now or before.
        left: messages that are left to ask about, these included if it gave no answer.
        failure: why it gave no answer.
        is_down: it cannot be asked about others either.
    """

    messages: int
    left: int
    failure: str | None = None
    is_down: bool = False


async def read_next(service: Service, caller: Caller, *, since: datetime | None = None) -> WindowRead | None:
    """Have the model read the next messages of a user; None if there are none, or no model.

    Args:
        service: with the model.
        caller: an agent of the user.
        since: only sessions that went on since this time; None for all.
    """
    reader, scope, now = service.planners.work, caller.access.conversations, datetime.now(UTC)
    if reader is None or scope is None:
        return None
    check_role(caller.principal, "agent")
    async with service.database.transaction(caller.access.for_conversations()) as connection:
        found = await unanswered_messages(
            connection,
            scope.scope_id,
            reader.name,
            since=since,
            now=now,
            max_tries=MAX_TRIES,
            max_chars=MAX_TURN_CHARS,
            limit=LOOKED_AT,
        )
        messages = [message for message in found if message.conversation_no == found[0].conversation_no]
        digests = {one.number: answer_digest(reader.name, _author(one), one.text) for one in messages}
        known = await known_answers(connection, scope.scope_id, [*digests.values()])
    if not messages:
        return None
    spending = TenantSpending(service.database, caller.access, now.date(), service.planners.daily_usd)
    read = _Window(service, caller, reader, messages[0].conversation_id, digests, now, spending)
    total = messages[0].total
    if by_hand := read.without_model(messages, known):
        await read.store(by_hand)
        answered = sum(answer.spans is not None for answer in by_hand)
        return WindowRead(answered, total - len(by_hand))
    return await read.ask(read.choose(messages), total)


async def read_waiting(service: Service, caller: Caller) -> WindowRead:
    """Have the model read what is left of a user's sessions, for as long as one call of it may take.

    Raises:
        ValidationFailed: no model reads sessions.
    """
    reader = service.planners.work
    if reader is None:
        raise ValidationFailed(
            "No model reads sessions.", hint="Set MEMEX_WORK_MODEL to one, such as openai:MODEL."
        )
    messages, read, failure = 0, WindowRead(0, 0), None
    ends_at = time.monotonic() + reader.seconds
    while time.monotonic() < ends_at:
        found = await read_next(service, caller)
        if found is None:
            break
        read, messages, failure = found, messages + found.messages, found.failure or failure
        if read.is_down:
            break
    return WindowRead(messages, read.left, failure, read.is_down)


async def read_recent(service: Service) -> str | None:
    """Have the model read what was said lately in sessions, each user in turn; return why it cannot be asked.

    A user for whom this fails is left for the next time.
    """
    since = datetime.now(UTC) - RECENT
    callers: list[Caller] = []
    for user in await recent_users(service.database, since):
        try:
            callers.append(await service.identities.memex_for(user.tenant_id, user.user_id))
        except MemexError as error:
            _log.warning("work_of_user_left", tenant=user.tenant_id, code=error.code)
    while callers:
        for caller in list(callers):
            try:
                read = await read_next(service, caller, since=since)
            except MemexError as error:
                _log.warning("work_of_user_left", tenant=caller.access.tenant_id, code=error.code)
                read = None
            if read is not None and read.is_down and read.failure != SPENT:
                return read.failure
            if read is None or read.is_down:
                callers.remove(caller)
    return None


@dataclass(frozen=True, slots=True)
class _Window:
    """The messages of one session that are read together."""

    service: Service
    caller: Caller
    reader: "WorkReader"
    conversation_id: str
    digests: Mapping[int, bytes]
    now: datetime
    spending: TenantSpending

    def without_model(
        self, messages: Sequence[UnansweredMessage], known: Mapping[bytes, Sequence[Any]]
    ) -> list[MessageAnswer]:
        """Return what is known of messages: what was answered of the same text, and which are left to the rules."""
        from memex.subagent.model.observing.asking import can_show  # noqa: PLC0415  # loaded by who has a model

        found: list[MessageAnswer] = []
        for message in messages:
            digest = self.digests[message.number]
            if (spans := known.get(digest)) is not None:
                found.append(MessageAnswer(message.conversation_no, message.number, digest, spans))
            elif not can_show(self._quotable(message)):
                found.append(MessageAnswer(message.conversation_no, message.number, digest, None, MAX_TRIES))
        return found

    def choose(self, messages: Sequence[UnansweredMessage]) -> list[UnansweredMessage]:
        """Return the messages that are shown at once; one that failed before is shown alone."""
        from memex.subagent.model.observing.asking import fill_window  # noqa: PLC0415  # as above

        if messages[0].tries:
            return [messages[0]]
        return fill_window([one for one in messages if not one.tries], self._quotable)

    async def ask(self, window: Sequence[UnansweredMessage], total: int) -> WindowRead:
        """Have the model read messages, and store what it named; the log has this as one call."""
        try:
            await self.spending.check()
        except ModelUnavailable as error:
            reason = self.reader.reason(error)
            _log.warning("work_read_by_model", model=self.reader.chat.name, messages=0, failure=reason)
            return WindowRead(0, total, reason, is_down=True)
        request = {"conversation": self.conversation_id, "messages": [message.number for message in window]}
        failure: str | None = None
        checked: CheckedAnswer | None = None
        async with self.service.recorder.recorded(self.caller, NAME, request) as log:
            try:
                checked = await self._read(window, log.call)
            except ModelUnavailable as error:
                failure = self.reader.reason(error)
            answers = (
                [self._failed(message, failure) for message in window]
                if failure
                else self._answers(window, checked)
            )
            await self.store([answer for answer in answers if answer is not None])
            counts = {
                "observations": checked.count if checked else 0,
                "dropped": dict(sorted(checked.dropped.items())) if checked else {},
                "failure": failure,
            }
            await log.add("answered", CallAnswer(counts, request, counts, self.reader.config))
        level = _log.warning if failure else _log.info
        named = {"failure": failure} if failure else {**counts}
        level("work_read_by_model", model=self.reader.chat.name, messages=len(window), **named)
        if failure is None:
            return WindowRead(len(window), total - len(window))
        return WindowRead(0, total, failure, is_down=not _is_unusable(failure))

    async def store(self, answers: Sequence[MessageAnswer]) -> None:
        """Store answers, and make the observations of the session anew where they change."""
        service, access = self.service, self.caller.access
        await put_answers(service.database, access, self.reader.name, answers, self.now)
        if access.conversations is None or all(answer.spans is None for answer in answers):
            return
        async with service.database.transaction(access.for_conversations()) as connection:
            sessions = await find_sessions(
                connection,
                access.conversations.scope_id,
                session=self.conversation_id,
                reader=self.reader.name,
            )
        await derive_missing(service, self.caller, sessions)

    async def _read(self, window: Sequence[UnansweredMessage], call: Call) -> "CheckedAnswer":
        snapshots = LiveSnapshots(self.service.database, self.caller.access, call=call)
        async with snapshots.begin(MemoryView(), "fresh") as opened:  # memory is not read
            tools = MemoryTools(opened.open, call, spending=self.spending, conceals_queries=True)
            return await self.reader.read([self._quotable(one) for one in window], tools)

    def _answers(
        self, window: Sequence[UnansweredMessage], checked: "CheckedAnswer | None"
    ) -> list[MessageAnswer | None]:
        spans = checked.spans if checked else []
        return [
            MessageAnswer(one.conversation_no, one.number, self.digests[one.number], named)
            for one, named in zip(window, spans, strict=True)
        ]

    def _failed(self, one: UnansweredMessage, failure: str | None) -> MessageAnswer | None:
        """Return that a message was not answered; None if that does not count as a try."""
        known = MessageAnswer(one.conversation_no, one.number, self.digests[one.number], None, one.tries + 1)
        if failure == ModelFailure.TIMEOUT:  # fewer messages may be faster, and the server too, later
            return replace(known, tries=min(known.tries, MAX_TRIES - 1))
        return known if _is_unusable(failure or "") else None

    def _quotable(self, one: UnansweredMessage) -> Any:
        from memex.subagent.model.observing.quotations import QuotableMessage  # noqa: PLC0415  # as above

        return QuotableMessage(_author(one), one.text)


def _author(one: UnansweredMessage) -> WorkAuthor:
    return "human" if one.by_human else "agent"


def _is_unusable(failure: str) -> bool:
    return failure in _UNUSABLE or failure.startswith(_LIMIT)
