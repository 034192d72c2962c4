"""A proxy before Postgres that counts what its clients send: statements and round trips.

A statement is an `Execute` or a `Query` message, so `begin` and `commit` count too. A round trip is a time that a
client sends after an answer to what it sent before has reached it: on a network, each one costs its latency once.
A new connection's log-in is not counted.

The proxy holds an answer back until the client has been silent for some milliseconds. So a client that goes on
sending without waiting, as a pipeline does, is not taken for one that waited.
"""

import asyncio
import struct
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Self

from psycopg.conninfo import conninfo_to_dict, make_conninfo

QUIET_S = 0.006
STATEMENTS = frozenset(b"EQ")  # Execute, Query
COUNTED = frozenset(b"BCDEFHPQS")  # all that a client sends once it has logged in, but Terminate
ENCRYPTION_REQUESTS = frozenset({80877103, 80877104})  # for TLS and GSSAPI
NO_ENCRYPTION = b"N"
CHUNK_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Traffic:
    """The number of statements and of round trips that were sent to Postgres."""

    statements: int = 0
    round_trips: int = 0

    def __sub__(self, earlier: Self) -> "Traffic":
        """Return what was sent since an earlier moment."""
        return Traffic(self.statements - earlier.statements, self.round_trips - earlier.round_trips)


@dataclass(slots=True)
class CountingProxy:
    """A running proxy. `conninfo` leads through it, without encryption."""

    conninfo: str
    _upstream: dict[str, str]
    _quiet_s: float
    _traffic: defaultdict[str, Traffic] = field(default_factory=lambda: defaultdict(Traffic))

    def traffic(self, application_name: str) -> Traffic:
        """Return what the connections of a client have sent so far, by its `application_name`."""
        return self._traffic[application_name]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection until either side ends it."""
        upstream: asyncio.StreamWriter | None = None
        try:
            startup = await _startup(reader, writer)
            answers, upstream = await self._open()
            upstream.write(startup)
            session = _Session(_application_name(startup), self._traffic)
            await asyncio.gather(
                self._forward(session, reader, upstream), self._return(session, answers, writer)
            )
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            for side in (writer, upstream):
                if side is not None:
                    side.close()
                    with suppress(OSError):
                        await side.wait_closed()

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host, port = self._upstream["host"], self._upstream.get("port", "5432")
        if host.startswith("/"):
            return await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
        return await asyncio.open_connection(host, int(port))

    @staticmethod
    async def _forward(
        session: "_Session", reader: asyncio.StreamReader, upstream: asyncio.StreamWriter
    ) -> None:
        while data := await reader.read(CHUNK_BYTES):
            session.sent(data)
            upstream.write(data)
            await upstream.drain()
        upstream.close()

    async def _return(
        self, session: "_Session", answers: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        loop = asyncio.get_running_loop()
        while data := await answers.read(CHUNK_BYTES):
            while (rest_s := session.last_sent + self._quiet_s - loop.time()) > 0:  # noqa: ASYNC110
                await asyncio.sleep(rest_s)
            session.has_heard = True
            writer.write(data)
            await writer.drain()
        writer.close()


class _Session:
    """The messages of one client, counted as they pass. A message may be cut anywhere."""

    def __init__(self, application_name: str, traffic: defaultdict[str, Traffic]) -> None:
        self.last_sent = 0.0
        self.has_heard = True
        self._name = application_name
        self._traffic = traffic
        self._pending = bytearray()

    def sent(self, data: bytes) -> None:
        """Count the messages that end in `data`."""
        self._pending += data
        kinds = list(self._take())
        counted = [kind for kind in kinds if kind in COUNTED]
        if not counted:
            return
        before = self._traffic[self._name]
        self._traffic[self._name] = Traffic(
            before.statements + sum(kind in STATEMENTS for kind in counted),
            before.round_trips + self.has_heard,
        )
        self.has_heard = False
        self.last_sent = asyncio.get_running_loop().time()

    def _take(self) -> Iterator[int]:
        while len(self._pending) >= 5:
            [length] = struct.unpack_from("!i", self._pending, 1)
            if len(self._pending) <= length:
                return
            yield self._pending[0]
            del self._pending[: 1 + length]


@contextmanager
def counting_proxy(conninfo: str, *, quiet_s: float = QUIET_S) -> Iterator[CountingProxy]:
    """Run a proxy before the server of a conninfo, in a thread, on a free port of 127.0.0.1.

    Args:
        conninfo: names the host, which may be the folder of a socket.
        quiet_s: how long a client must be silent before it gets an answer.
    """
    upstream = {name: str(value) for name, value in conninfo_to_dict(conninfo).items()}
    proxy = CountingProxy("", upstream, quiet_s)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="postgres-proxy", daemon=True)
    thread.start()
    listener = asyncio.run_coroutine_threadsafe(
        asyncio.start_server(proxy.serve, "127.0.0.1", 0), loop
    ).result()
    port = listener.sockets[0].getsockname()[1]
    proxy.conninfo = make_conninfo(
        conninfo, host="127.0.0.1", port=port, sslmode="disable", gssencmode="disable"
    )
    try:
        yield proxy
    finally:
        asyncio.run_coroutine_threadsafe(_end(listener), loop).result(timeout=30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _end(listener: asyncio.Server) -> None:
    listener.close()
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _startup(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    """Return the message that begins a connection, and decline encryption before it."""
    while True:
        head = await reader.readexactly(8)
        length, code = struct.unpack("!ii", head)
        if code not in ENCRYPTION_REQUESTS:
            return head + await reader.readexactly(length - 8)
        writer.write(NO_ENCRYPTION)


def _application_name(startup: bytes) -> str:
    words = startup[8:].rstrip(b"\0").split(b"\0")
    return dict(zip(words[::2], words[1::2], strict=False)).get(b"application_name", b"").decode()
