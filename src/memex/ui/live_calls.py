"""Live lists of calls: a stream tells a page that there are new calls, and the page then asks for them as ever.

All streams of a process share one poll of the database, which also finds out whose session has ended.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field

from starlette.datastructures import State

from memex.errors import MemexError
from memex.service.service import Service
from memex.store.database import Rows, rows
from memex.store.identity.sessions import BrowserSession

MAX_STREAMS = 200  # of a process; the pages of all others ask every few seconds
POLL_S = 0.4
PING_S = 10.0  # how often a quiet stream writes, so that a client that has gone is noticed
LIFETIME_S = 60.0  # then the browser opens a new stream

NEW_CALLS = b"event: calls\ndata: new\n\n"
PING = b": quiet\n\n"
OPENED = b"retry: 1000\n\n"


@dataclass(eq=False)
class _Stream:
    """A page that is told of new calls.

    Attributes:
        changed: set when something is to be said.
        newest: the newest call that the page has been told of; None before the first poll.
        is_ended: the session has ended, or shows another user.
    """

    session: BrowserSession
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    newest: int | None = None
    is_ended: bool = False


class LiveCalls:
    """The streams of one process."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._streams: set[_Stream] = set()
        self._poll: asyncio.Task[None] | None = None

    def open(self, session: BrowserSession) -> AsyncIterator[bytes] | None:
        """Return a stream of events for a page of this session; None when there are as many as may be."""
        if len(self._streams) >= MAX_STREAMS:
            return None
        stream = _Stream(session)
        self._streams.add(stream)
        if self._poll is None or self._poll.done():
            self._poll = asyncio.create_task(self._watch())
        return self._events(stream)

    def end(self) -> None:
        """End all streams, because the process is asked to end; browsers then open new ones elsewhere."""
        for stream in self._streams:
            stream.is_ended = True
            stream.changed.set()

    async def _events(self, stream: _Stream) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        end = loop.time() + LIFETIME_S
        try:
            yield OPENED
            while not stream.is_ended and loop.time() < end:
                said = PING
                with suppress(TimeoutError):
                    await asyncio.wait_for(stream.changed.wait(), PING_S)
                    said = NEW_CALLS
                stream.changed.clear()
                if not stream.is_ended:
                    yield said
        finally:
            self._streams.discard(stream)

    async def _watch(self) -> None:
        """Look for new calls and for sessions that have ended, as long as somebody wants to know."""
        while self._streams:
            with suppress(MemexError):  # the database is away: the streams stay, and say nothing
                await self._look()
            await asyncio.sleep(POLL_S)

    async def _look(self) -> None:
        watched = list(self._streams)
        async with self._service.database.maintenance() as connection:
            alive = await rows(
                connection,
                "identity/session_alive",
                session_ids=sorted({stream.session.session_id for stream in watched}),
            )
            newest = await rows(
                connection,
                "log/operation_newest",
                tenant_ids=sorted({stream.session.principal.tenant_id for stream in watched}),
            )
        shown = {row["session_id"]: row["user_id"] for row in alive}
        for stream in watched:
            session = stream.session
            if session.session_id not in shown or shown[session.session_id] != session.user_id:
                stream.is_ended = True
                stream.changed.set()
            else:
                _tell(stream, _newest_for(session, newest))


def live_calls_of(state: State, service: Service) -> LiveCalls:
    """Return the streams of an app, which its state keeps."""
    if not hasattr(state, "live_calls"):
        state.live_calls = LiveCalls(service)
    made: LiveCalls = state.live_calls
    return made


def _newest_for(session: BrowserSession, newest: Rows) -> int:
    """Return the newest call that a session's list shows: one of its user, or without a user anybody's."""
    return max(
        (
            call["operation_id"]
            for call in newest
            if call["tenant_id"] == session.principal.tenant_id and session.user_id in (None, call["user_id"])
        ),
        default=0,
    )


def _tell(stream: _Stream, newest: int) -> None:
    """Say that there is a new call; the first look only finds out what the page shows already."""
    if stream.newest is not None and newest > stream.newest:
        stream.changed.set()
    stream.newest = max(newest, stream.newest or 0)
