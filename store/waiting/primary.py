"""The server that takes writes: whether a connection leads to it, and the search for it in a failover.

Postgres tells each connection whether its server is a standby, and whether transactions are read-only by default:
when the connection begins, and when either changes. So no statement has to ask. A pooler does not pass this on in
time; behind one, a write that is refused (25006) is the first to tell.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import psycopg
import structlog
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import ConnStatus
from psycopg.rows import tuple_row

from memex.errors import StoreUnavailable
from memex.store.waiting.failures import READ_ONLY, SERVER_GONE, first_line
from memex.store.waiting.pools import AWAY_WAIT_S, Pool, connect

LOOK_EVERY_S = 1.0
LOOK_WAIT_S = 0.5  # a transaction waits so long for what a look finds; the look goes on without it
AWAY_FOR_S = 5.0  # behind a pooler, nothing tells that writes are taken again
START_WAIT_S = 60.0
SAY_EVERY_S = 5.0  # a start holds its first lines back for a while
HINT = (
    "Promote the standby, or let DATABASE_URL lead to the primary; it may name several servers: "
    "host=a,b target_session_attrs=read-write. Then send the request again. Reading goes on."
)

# A server says this while it starts, recovers or shuts down (57P03), and libpq passes on the text alone.
_NOT_YET = "the database system is"

_log = structlog.get_logger("memex.store")


def read_only_error(connection: psycopg.AsyncConnection[Any]) -> StoreUnavailable:
    """Return what a caller is told whose write a server refused."""
    is_standby = connection.pgconn.parameter_status(b"in_hot_standby") == b"on"
    what = "is a read-only standby, and takes no writes" if is_standby else "takes no writes at present"
    return StoreUnavailable(f"This server {what}.", hint=HINT, reason=READ_ONLY)


def refused_as_read_only(error: psycopg.DatabaseError, connection: psycopg.AsyncConnection[Any]) -> bool:
    """Return whether a server refused something because it takes no writes."""
    if isinstance(error, psycopg.errors.FeatureNotSupported):  # what a standby does not do at all
        return not connection.closed and connection.pgconn.parameter_status(b"in_hot_standby") == b"on"
    return isinstance(error, psycopg.errors.ReadOnlySqlTransaction)


def is_wrong_server(error: psycopg.DatabaseError | StoreUnavailable) -> bool:
    """Return whether what failed may go well on another connection."""
    if isinstance(error, StoreUnavailable):
        return error.details.get("reason") == READ_ONLY
    return error.sqlstate in SERVER_GONE or (
        error.sqlstate is None and isinstance(error, psycopg.OperationalError)
    )


class Primary:
    """The knowledge that one process has of the server that takes writes.

    Args:
        pools: whose connections are thrown away when the server has changed. The first one leads to the database.
        is_pooled: the connections lead to a pooler, which may pass on what another server said.
    """

    def __init__(self, pools: Sequence[Pool], *, is_pooled: bool) -> None:
        self._pools = pools
        self._is_pooled = is_pooled
        self._away_until_s = 0.0
        self._next_look_s = 0.0
        self._look: asyncio.Task[bool] | None = None

    @property
    def is_away(self) -> bool:
        """Return whether the database took no writes when it was last used."""
        return time.monotonic() < self._away_until_s

    def note_away(self) -> None:
        """Note that a server took no write."""
        if not self.is_away:
            _log.warning("database_read_only")
        self._away_until_s = time.monotonic() + AWAY_FOR_S

    def is_read_only(self, connection: psycopg.AsyncConnection[Any]) -> bool:
        """Return whether the server of a connection said that it takes no writes."""
        said = connection.pgconn.parameter_status
        is_said = b"on" in (said(b"in_hot_standby"), said(b"default_transaction_read_only"))
        return is_said and not self._is_pooled

    async def is_elsewhere(self, connection: psycopg.AsyncConnection[Any]) -> bool:
        """Return whether a connection leads to a server that takes no writes while another one does.

        A new connection asks, at most once a second. When it finds the primary, all older connections are thrown
        away. As long as it finds none they are kept, since reading goes on.
        """
        if not self.is_read_only(connection):
            if not self._is_pooled:
                self._away_until_s = 0.0
            return False
        self.note_away()
        if self._look is None or (self._look.done() and time.monotonic() >= self._next_look_s):
            self._look = asyncio.create_task(self._find())
        if not self._look.done():
            await asyncio.wait({self._look}, timeout=LOOK_WAIT_S)
        return self._look.done() and self._look.result()

    async def await_found(self, seconds: float) -> None:
        """Return once a server takes writes, and older connections are thrown away, or so many seconds later."""
        deadline_s = time.monotonic() + seconds
        is_said = False
        while time.monotonic() < deadline_s and not await self._find():
            if not is_said:
                _log.warning("waits_for_database", awaits="a server that takes writes", seconds=seconds)
            is_said = True
            await asyncio.sleep(LOOK_EVERY_S)

    async def close(self) -> None:
        """End the search."""
        if self._look is not None:
            self._look.cancel()
            await asyncio.gather(self._look, return_exceptions=True)

    async def _find(self) -> bool:
        try:
            async with await psycopg.AsyncConnection.connect(
                str(self._pools[0].conninfo), autocommit=True
            ) as connection:
                is_found = not await _refuses_writes(connection)
        except psycopg.Error:
            is_found = False
        if is_found:
            _log.info("database_takes_writes")
            for pool in self._pools:
                await pool.drain()
        self._next_look_s = time.monotonic() + LOOK_EVERY_S
        return is_found


@asynccontextmanager
async def living_connection(
    pool: Pool, wait_s: float | None
) -> AsyncIterator[psycopg.AsyncConnection[dict[str, Any]]]:
    """A connection of a pool that its server has not ended, as far as can be told without asking the server."""
    async with AsyncExitStack() as held:
        for _ in range(pool.max_size):
            async with AsyncExitStack() as one:
                connection = await one.enter_async_context(pool.connection(wait_s))
                if _is_alive(connection):
                    await held.enter_async_context(one.pop_all())
                    break
                await connection.close()  # the pool replaces it
                wait_s = AWAY_WAIT_S  # the database may be away
        else:
            connection = await held.enter_async_context(pool.connection(wait_s))
        yield connection


async def await_server(conninfo: str, *, takes_writes: bool) -> None:
    """Return once a server answers that has started, or one that takes writes; the log says what is awaited.

    Args:
        conninfo: leads to the server.
        takes_writes: wait for a primary; else a standby will do.

    Raises:
        StoreUnavailable: only a standby answers after a minute.
        psycopg.OperationalError: there is no server, or it refuses the login. After a minute, it still starts.
    """
    deadline_s = time.monotonic() + START_WAIT_S
    is_waiting, said_s = False, -SAY_EVERY_S
    while True:
        found: Exception
        try:
            async with await connect(conninfo, autocommit=True) as connection:
                if not (takes_writes and await _refuses_writes(connection)):
                    return
                found = read_only_error(connection)
        except psycopg.OperationalError as error:
            if not is_waiting and _NOT_YET not in str(error):
                raise
            found = error
        if time.monotonic() >= deadline_s:
            raise found
        if time.monotonic() >= said_s + SAY_EVERY_S:
            said_s = time.monotonic()
            what = "a server that takes writes" if takes_writes else "a server that has started"
            _log.warning(
                "waits_for_database",
                awaits=what,
                found=_said(found),
                at=_place(conninfo),
                seconds=START_WAIT_S,
            )
        is_waiting = True
        await asyncio.sleep(LOOK_EVERY_S)


def _said(found: Exception) -> str:
    return found.message if isinstance(found, StoreUnavailable) else first_line(found)


def _place(conninfo: str) -> str:
    """Return the hosts and ports of a connection string, without its login."""
    named = {key: value for key, value in conninfo_to_dict(conninfo).items() if key in ("host", "port")}
    return make_conninfo(**named)  # type: ignore[arg-type]  # texts


async def _refuses_writes(connection: psycopg.AsyncConnection[Any]) -> bool:
    async with connection.cursor(row_factory=tuple_row) as cursor:
        await cursor.execute("select current_setting('transaction_read_only')")
        return await cursor.fetchone() == ("on",)


def _is_alive(connection: psycopg.AsyncConnection[Any]) -> bool:
    try:
        for _ in range(2):  # the first takes in why the server ended the connection, the second that it did
            connection.pgconn.consume_input()
    except psycopg.OperationalError:
        return False
    return connection.pgconn.status == ConnStatus.OK
