"""The pool of connections, and transactions that set for whom they act."""

import asyncio
import itertools
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import psycopg
import structlog
from psycopg import AsyncConnection, AsyncCursor
from psycopg.pq import PipelineStatus, TransactionStatus
from psycopg.rows import DictRow, kwargs_row, tuple_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from memex.errors import MemexError, SchemaTooNew, StoreUnavailable
from memex.store import agents_login, migrate, pooler
from memex.store.access import Access
from memex.store.agents_login import Sealer
from memex.store.embedded.space import Space, disk_low
from memex.store.pooler import PoolerSetting
from memex.store.sql import sql
from memex.store.waiting import pgvector, pools, time_limits
from memex.store.waiting.failures import (
    OTHER_REASON,
    READ_ONLY,
    REASONS,
    database_silent,
    error_of_postgres,
    error_of_wait,
    first_line,
)
from memex.store.waiting.fair_queue import FairQueue, Flow, Lane, NoTurn, Slot, write_lanes
from memex.store.waiting.pgvector import VectorsLost
from memex.store.waiting.primary import (
    Primary,
    is_wrong_server,
    living_connection,
    read_only_error,
    refused_as_read_only,
)
from memex.store.waiting.time_limits import CALL, UPKEEP, TimeLimits

Shape = TypeVar("Shape")
Begun = TypeVar("Begun")

Connection = AsyncConnection[DictRow]
Rows = list[dict[str, Any]]
Statement = tuple[str, dict[str, Any]]  # the name of a query and its parameters
Begin = Callable[[AsyncExitStack, Connection], Awaitable[Begun]]  # what it enters is left with the connection

LOCK_SLACK_S = 0.5  # more than `lock_timeout`, which comes first if only one lock is waited for

# Read committed, whatever the server's default is: each statement sees what was committed before it began. So a
# read that is sent after `writes/scope_lock` sees what the last holder of the lock wrote.
BEGIN = b"begin isolation level read committed"
BEGIN_SNAPSHOT = b"begin isolation level repeatable read"

# Of SQLSTATE: integrity constraints, and names or rights that a statement needs and that are not there.
SCHEMA_CLASSES = frozenset({"23", "42"})

OWN: Flow = ("memex", "")  # the flow of Memex' own work: readiness, metrics, jobs, what operators ask for

_log = structlog.get_logger()
_failures = itertools.count()  # of transactions, as `_roll_back` counts them


@dataclass(frozen=True, slots=True)
class Waiting:
    """The rules of waiting: how long calls wait for the database and for each other, and who is told.

    Attributes:
        limits: of the transactions of calls.
        user_slots: how many connections the calls of one user use at a time; None for all but one.
        count: counts a call that waited in vain, by its reason.
        restart_after_s: says when the database is started again; None if nobody knows.
        primary_s: how long a write waits for a server that takes writes, as a command does; a service refuses it.
    """

    limits: TimeLimits = CALL
    user_slots: int | None = None
    count: Callable[[str], None] = lambda _: None
    restart_after_s: Callable[[], float | None] = lambda: None
    primary_s: float = 0.0


DEFAULT_WAITING = Waiting()


class Database:
    """A pool of connections to one Postgres, whose schema has been checked.

    Requests act as the roles `memex_agent` and `memex_admin`. Where the login may not become them it stays the
    tables' owner, whom forced row-level security binds: `acts_by_role` says which. `is_pooled` says whether the
    connections lead through a pooler, `has_vectors` whether the database can hold embeddings, `lost_vectors`
    whether it should and they cannot be used, `has_jobs` whether it has a queue. `space` says how much space
    the database has left. Where there is a login for agents, their transactions run on a pool of its
    connections (`store.agents_login`).
    """

    def __init__(
        self,
        pool: AsyncConnectionPool[Connection],
        *,
        acts_by_role: bool,
        is_pooled: bool,
        tracks: frozenset[str],
        client_check: str,
        vectors_schema: str | None = None,
        vectors_error: str | None = None,
        waiting: Waiting,
        space: Space | None = None,
        agents: AsyncConnectionPool[Connection] | None = None,
        sealer: Sealer | None = None,
    ) -> None:
        self._pool = pool
        self._agents, self._sealer = agents, sealer
        self.primary = Primary(
            [each_pool for each_pool in (pool, agents) if each_pool is not None], is_pooled=is_pooled
        )
        self.space = space or Space()
        self._queue = FairQueue(pool.max_size, waiting.user_slots or max(1, pool.max_size - 1))
        self._waiting = waiting
        self._client_check = client_check
        self._limits = self._settings_of(waiting.limits)
        self._is_down = False
        self.is_outdated = False  # whether a statement failed in the schema of a newer Memex
        self.acts_by_role = acts_by_role
        self.is_pooled = is_pooled
        self.has_vectors = migrate.VECTORS.name in tracks and vectors_error is None
        self.lost_vectors = vectors_error is not None
        self._vectors_schema = vectors_schema
        if vectors_error is not None:
            _log.error("vectors_unusable", error=vectors_error, hint="Run `memex doctor`.")
        self.has_jobs = migrate.JOBS.name in tracks

    @classmethod
    async def open(
        cls,
        conninfo: str,
        *,
        max_connections: int = 10,
        pooler_setting: PoolerSetting = "auto",
        waiting: Waiting = DEFAULT_WAITING,
        space: Space | None = None,
        agent_conninfo: str | None = None,
    ) -> Self:
        """Connect, and check the schema and the login.

        Args:
            conninfo: of the database.
            max_connections: the most that are open at a time.
            pooler_setting: whether a pooler may stand between.
            waiting: how long calls wait for the database and for each other.
            space: what is known of the space that the database has left.
            agent_conninfo: the same database with a login for agents that owns nothing; None for one login.

        Raises:
            StoreUnavailable: no connection, a pooler that may not be there, migrations are missing, a superuser
                login without the roles, or a login for agents that may do more than they.
            SchemaTooNew: a newer Memex migrated the database.
        """
        pool = pools.new_pool(conninfo, max_connections, pooler_setting)
        agents = (
            None
            if agent_conninfo is None
            else pools.new_pool(agent_conninfo, max_connections, pooler_setting)
        )
        sealer = None
        try:
            await pool.open(wait=True, timeout=30)
            async with pool.connection() as connection:
                is_pooled = await pooler.check(connection, pooler_setting)
                tracks = await migrate.check(connection)
                acts_by_role = await can_act_by_role(connection)
                client_check = await time_limits.client_check(connection)
                schema = await pgvector.find_schema(connection)
                unusable = None
                if migrate.VECTORS.name in tracks:
                    unusable = await pgvector.why_unusable(
                        connection, schema, migrate.ROLES if acts_by_role else ()
                    )
                if agents is not None:
                    await agents.open(wait=True, timeout=30)
                    async with agents.connection() as other:
                        sealer = await agents_login.check(connection, other)
        except (psycopg.OperationalError, PoolTimeout) as error:
            await pools.close(pool, agents)
            raise StoreUnavailable(f"The database cannot be reached: {first_line(error)}") from error
        except BaseException:
            await pools.close(pool, agents)
            raise
        return cls(
            pool,
            acts_by_role=acts_by_role,
            is_pooled=is_pooled,
            tracks=tracks,
            client_check=client_check,
            vectors_schema=schema,
            vectors_error=unusable,
            waiting=waiting,
            space=space,
            agents=agents,
            sealer=sealer,
        )

    async def close(self) -> None:
        """Close every connection."""
        await self.primary.close()
        await pools.close(self._pool, self._agents)

    @property
    def load(self) -> pools.PoolLoad:
        """The load of the pool."""
        return pools.load_of(self._queue.waiting, self._pool, self._agents)

    @property
    def is_logged(self) -> bool:
        """Return whether calls that write nothing are logged."""
        return self.space.is_logged and not self.primary.is_away

    @asynccontextmanager
    async def connection(self, flow: Flow = OWN) -> AsyncIterator[Connection]:
        """A connection outside any transaction, acting as nobody: row-level security shows it no row.

        Args:
            flow: for whom it is used, who waits until others of other flows have had theirs.

        Raises:
            DiskLow: the disk of the database is full.
            StoreUnavailable: the database went away.
            Overloaded: no connection became free in time.
        """
        async with self._held(_begin_nothing, flow) as (connection, _, _):
            yield connection

    @asynccontextmanager
    async def transaction(
        self,
        access: Access,
        *,
        snapshot: bool = False,
        waits_for_disk: bool = True,
        limits: TimeLimits | None = None,
    ) -> AsyncIterator[Connection]:
        """A transaction that acts for `access`; committed at the end, rolled back by an exception.

        A snapshot is in pipeline mode: `begin` is sent with the first statement, and a statement whose rows nobody
        waits for is sent with the next one or with the commit. So an error of such a statement is raised there.

        Args:
            access: decides which rows row-level security shows.
            snapshot: all statements see the same moment (repeatable read).
            waits_for_disk: false for a commit that may be lost when Postgres crashes within some 0.6 s after it.
            limits: how long Postgres waits for the transaction and for its locks; by default as for every call.

        Raises:
            Unauthenticated, AccessChanged: the access does not hold any more; see `identity.authentication`. This
                and every other transaction for an access raises them before it shows or writes anything.
        """
        settle = sql("identity/access_set")
        settings = self._settings(access, waits_for_disk=waits_for_disk, limits=limits)
        if not snapshot:
            async with self._begin(settle, settings, flow_of(access), access) as (connection, settled):
                await _note_epoch(access, settled)
                yield connection
            return

        async def begin(held: AsyncExitStack, connection: Connection) -> AsyncCursor[DictRow]:
            await held.enter_async_context(connection.pipeline())
            await connection.execute(BEGIN_SNAPSHOT)
            return await self._settle(connection, settle, settings)

        async with self._held(begin, flow_of(access), access=access) as (connection, settled, _):
            yield connection
            await connection.execute(b"commit")
        await _note_epoch(access, settled)

    async def read(self, access: Access, *statements: Statement) -> list[Rows]:
        """Return the rows of statements that see the same moment: a transaction of one round trip."""

        async def run(
            _: AsyncExitStack, connection: Connection
        ) -> tuple[AsyncCursor[DictRow], list[AsyncCursor[DictRow]]]:
            async with connection.pipeline():
                await connection.execute(BEGIN_SNAPSHOT)
                settled = await self._settle(connection, sql("identity/access_set"), self._settings(access))
                cursors = await _send(connection, statements)
                await connection.execute(b"commit")
            return settled, cursors

        async with self._held(run, flow_of(access), access=access) as (_, (settled, cursors), _):
            await _note_epoch(access, settled)
            return [await cursor.fetchall() for cursor in cursors]

    @asynccontextmanager
    async def writing(
        self, access: Access, *statements: Statement, scope_ids: Sequence[int]
    ) -> AsyncIterator[tuple[Connection, list[Rows]]]:
        """A transaction that runs some statements, yields their rows, and then sends without waiting.

        `begin` and the statements take one round trip. What the block executes is sent in pipeline mode, without
        waiting for results, and takes a second round trip together with the commit. So an error of such a statement
        is raised at the end of the block, or at the next fetch.

        Args:
            access: decides which rows row-level security shows.
            statements: are run first; they take the locks of the writers.
            scope_ids: the scopes whose locks they take. Few connections of the pool wait for the same one.

        Raises:
            ScopeBusy: the locks were not had in time.
        """
        lanes = write_lanes(access.tenant_id, scope_ids, self._queue.slots, self._queue.user_slots)

        async def begin(held: AsyncExitStack, connection: Connection) -> list[AsyncCursor[DictRow]]:
            pipeline = await held.enter_async_context(connection.pipeline())
            await connection.execute(BEGIN)
            settled = await self._settle(connection, sql("identity/access_set"), self._settings(access))
            cursors = await _send(connection, statements)
            # Postgres counts `lock_timeout` anew for each lock, and who waits for a row takes two.
            async with asyncio.timeout(self._waiting.limits.lock_s + LOCK_SLACK_S):
                await pipeline.sync()
            await _note_epoch(access, settled)
            return cursors

        try:
            async with self._held(begin, flow_of(access), lanes, access=access) as (
                connection,
                cursors,
                slot,
            ):
                self._queue.leave_lanes(slot)
                yield connection, [await cursor.fetchall() for cursor in cursors]
                await connection.execute(b"commit")
        except TimeoutError:
            self._waiting.count("lock_timeout")
            raise error_of_wait("lane") from None

    @asynccontextmanager
    async def maintenance(self, limits: TimeLimits = UPKEEP) -> AsyncIterator[Connection]:
        """A transaction of the owner, which row-level security does not limit: for keys, tenants, erasure."""
        settle, settings = sql("identity/maintenance_set"), self._settings_of(limits)
        async with self._begin(settle, settings, OWN) as (connection, _):
            yield connection

    def note_lost_vectors(self, error: psycopg.Error) -> None:
        """Answer by words from now on, since a statement about vectors failed; the next start looks again."""
        self.has_vectors, self.lost_vectors = False, True
        _log.error("vectors_lost", error=first_line(error), hint="Run `memex doctor`.")

    async def _has_lost_vectors(self) -> bool:
        """Return whether those who answer calls can compare no vectors any more, by one statement as each."""
        roles = migrate.ROLES if self.acts_by_role else ()
        async with self._pool.connection() as connection:
            return await pgvector.why_unusable(connection, self._vectors_schema, roles) is not None

    async def _refuse_newer_schema(self, error: psycopg.Error) -> None:
        """Raise SchemaTooNew if a statement failed because a newer Memex migrated the database meanwhile."""
        if (error.sqlstate or "")[:2] not in SCHEMA_CLASSES:
            return
        try:
            async with self._pool.connection() as connection:
                await migrate.check(connection)
        except SchemaTooNew as newer:
            self.is_outdated = True
            raise newer from error
        except (StoreUnavailable, PoolTimeout):
            return

    async def size_bytes(self) -> int:
        """Return the size of the database on its disk."""
        async with self.connection() as connection:
            measured = await row(connection, "upkeep/database_size")
        return int(measured["bytes"]) if measured else 0

    def access_check(self, access: Access) -> Statement:
        """Return the statement by which a transaction for `access` sees once more that the access holds."""
        return "identity/access_check", self._settings(access)

    @asynccontextmanager
    async def _begin(
        self, settle: bytes, settings: Mapping[str, Any], flow: Flow, access: Access | None = None
    ) -> AsyncIterator[tuple[Connection, AsyncCursor[DictRow]]]:

        async def begin(_: AsyncExitStack, connection: Connection) -> AsyncCursor[DictRow]:
            async with connection.pipeline():  # one round trip for both
                await connection.execute(BEGIN)
                return await self._settle(connection, settle, settings)

        async with self._held(begin, flow, access=access) as (connection, settled, _):
            yield connection, settled
            await connection.execute(b"commit")

    async def _settle(
        self, connection: Connection, settle: bytes, settings: Mapping[str, Any]
    ) -> AsyncCursor[DictRow]:
        """Say for whom a transaction acts, which is its first statement, and how it finds pgvector."""
        settled = await connection.execute(settle, settings)
        await pgvector.add_to_path(connection, self._vectors_schema)
        return settled

    @asynccontextmanager
    async def _held(
        self, begin: Begin[Begun], flow: Flow, lanes: Sequence[Lane] = (), *, access: Access | None = None
    ) -> AsyncIterator[tuple[Connection, Begun, Slot]]:
        """A connection for an access, or for Memex' own work, with what `begin` returned and the slot for it."""
        agents = self._agents if access is not None and access.role == "agent" else None
        with self._told_of_waits():
            slot = await self._queue.take(flow, lanes)
        try:
            async with AsyncExitStack() as held:
                connection, begun = await self._begun(held, agents or self._pool, begin)
                yield connection, begun, slot
        except psycopg.errors.DiskFull as error:
            self.space.note_full()
            raise disk_low() from error
        except psycopg.DatabaseError as error:
            if self.has_vectors and pgvector.may_be_loss(error) and await self._has_lost_vectors():
                self.note_lost_vectors(error)
                raise VectorsLost("The vectors of the database cannot be used any more.") from error
            if (refused := error_of_postgres(error)) is None:
                await self._refuse_newer_schema(error)
                raise
            self._is_down = error.sqlstate is None and isinstance(refused, StoreUnavailable)
            if (reason := REASONS.get(error.sqlstate)) or self._is_down:
                self._waiting.count(reason or OTHER_REASON)
            raise self._with_restart(refused) from error
        finally:
            self._queue.give_back(slot)

    async def _begun(
        self, held: AsyncExitStack, pool: pools.Pool, begin: Begin[Begun]
    ) -> tuple[Connection, Begun]:
        """Enter a connection, and run `begin` on it; once more on a new one if it led to the wrong server.

        Nothing is committed in `begin`, or nothing written. What fails after it is not tried again.
        """
        for is_last in (False, True):
            try:
                async with AsyncExitStack() as attempt:
                    connection = await attempt.enter_async_context(self._connected(pool, is_again=is_last))
                    if not is_last and await self.primary.is_elsewhere(connection):
                        continue
                    begun = await begin(attempt, connection)
                    await held.enter_async_context(attempt.pop_all())
                    return connection, begun
            except (psycopg.DatabaseError, StoreUnavailable) as error:
                if is_last or isinstance(error, PoolTimeout) or not is_wrong_server(error):
                    raise
                if isinstance(error, StoreUnavailable):
                    await self.primary.await_found(self._waiting.primary_s)
        raise AssertionError

    @asynccontextmanager
    async def _connected(self, pool: pools.Pool, *, is_again: bool) -> AsyncIterator[Connection]:
        """A connection whose transaction is rolled back by an exception; `is_again` after one that was ended."""
        wait_s = pools.AWAY_WAIT_S if self._is_down or is_again else None
        async with living_connection(pool, wait_s) as connection:
            self._is_down = False
            try:
                yield connection
            except psycopg.DatabaseError as error:
                await _roll_back(connection)
                if is_wrong_server(error):
                    await connection.close()
                if not refused_as_read_only(error, connection):
                    raise
                self.primary.note_away()
                self._waiting.count(READ_ONLY)
                refused = read_only_error(connection)
                if not self.primary.is_read_only(
                    connection
                ):  # else it is kept for reading until there is another
                    await connection.close()
                raise refused from error
            except BaseException:
                await _roll_back(connection)
                raise
            finally:
                if connection.info.pipeline_status != PipelineStatus.OFF:
                    # A cancelled call may leave psycopg's pipeline unended: later statements would share one
                    # transaction. The pool replaces a closed connection.
                    await connection.close()

    async def refuse_overload(self, flow: Flow) -> None:
        """Raise Overloaded, before anything is done for a call, if its first statement would wait too long."""
        with self._told_of_waits():
            await self._queue.look(flow)

    @contextmanager
    def _told_of_waits(self) -> Iterator[None]:
        try:
            yield
        except NoTurn as refusal:
            self._waiting.count(refusal.reason)
            made = database_silent() if self._is_down else error_of_wait(refusal.reason)
            raise self._with_restart(made) from None

    def _with_restart(self, error: MemexError) -> MemexError:
        """Say in an error when the database is likely to be back, if that is known."""
        after_s = self._waiting.restart_after_s() if isinstance(error, StoreUnavailable) else None
        if after_s is not None:
            error.details["retry_after_s"] = max(1, math.ceil(after_s))
        return error

    def _settings_of(self, limits: TimeLimits) -> dict[str, str]:
        return limits.settings() | {"client_check": self._client_check}

    def _settings(
        self, access: Access, *, waits_for_disk: bool = True, limits: TimeLimits | None = None
    ) -> dict[str, Any]:
        standing, sealer = access.standing, self._sealer
        return {
            "database_role": f"memex_{access.role}" if self.acts_by_role else "none",
            "role": access.role,
            "tenant_id": access.tenant_id,
            "user_id": access.user_id,
            "readable": access.readable_ids,
            "rights_to_read": access.rights_to_read,
            "writable": access.writable_ids,
            "visitors_id": access.visitors_id,
            "seal": "" if sealer is None else sealer.seal(access),
            "key_id": standing.key_id,
            "key_sha256": standing.key_sha256,
            "epoch": standing.epoch,
            "rights": standing.rights if access.is_cached else None,
            "synchronous_commit": None if waits_for_disk else "off",
            **(self._limits if limits is None else self._settings_of(limits)),
        }


def flow_of(access: Access) -> Flow:
    """Return among whom a call waits for a connection."""
    return access.tenant_id, access.user_id


async def rows(connection: Connection, statement: str, /, **parameters: Any) -> Rows:
    """Run `queries/{statement}.sql` and return its rows."""
    cursor = await connection.execute(sql(statement), parameters)
    return await cursor.fetchall()


async def tuples(connection: Connection, statement: str, /, **parameters: Any) -> list[tuple[Any, ...]]:
    """Run `queries/{statement}.sql` and return its rows as tuples: a dict costs more than the rest of a row."""
    cursor = connection.cursor(row_factory=tuple_row)
    await cursor.execute(sql(statement), parameters)
    return await cursor.fetchall()


async def batch(connection: Connection, *statements: Statement, binary: bool = False) -> list[Rows]:
    """Run several statements that return rows, in their order with one round trip, and return the rows of each.

    `binary` has Postgres send the rows in its binary format: for long `bytea`, which has twice the length as text.
    """
    if not statements:
        return []
    # A pipeline inside another one would wait for what was sent before it.
    is_pipeline = connection.pgconn.pipeline_status != PipelineStatus.OFF
    async with nullcontext() if is_pipeline else connection.pipeline():
        cursors = await _send(connection, statements, binary=binary)
    return [await cursor.fetchall() for cursor in cursors]


async def row(connection: Connection, statement: str, /, **parameters: Any) -> dict[str, Any] | None:
    """Run `queries/{statement}.sql` and return its first row, None when there is none."""
    cursor = await connection.execute(sql(statement), parameters)
    return await cursor.fetchone()


async def rows_as(
    shape: Callable[..., Shape], connection: Connection, statement: str, /, **parameters: Any
) -> list[Shape]:
    """Run `queries/{statement}.sql` and return what `shape` makes of each row: it takes columns by their names."""
    cursor = connection.cursor(row_factory=kwargs_row(shape))
    await cursor.execute(sql(statement), parameters)
    return await cursor.fetchall()


async def row_as(
    shape: Callable[..., Shape], connection: Connection, statement: str, /, **parameters: Any
) -> Shape | None:
    """Run `queries/{statement}.sql` and return what `shape` makes of the first row, None when there is none."""
    cursor = connection.cursor(row_factory=kwargs_row(shape))
    await cursor.execute(sql(statement), parameters)
    return await cursor.fetchone()


async def _send(
    connection: Connection, statements: Iterable[Statement], *, binary: bool = False
) -> list[AsyncCursor[DictRow]]:
    return [await connection.execute(sql(name), parameters, binary=binary) for name, parameters in statements]


async def _note_epoch(access: Access, settled: AsyncCursor[DictRow]) -> None:
    """Keep the access epoch in which a transaction saw that the access holds: the next one has less to look up."""
    for settings in await settled.fetchall():
        access.standing.epoch = settings["epoch"]


async def _begin_nothing(_: AsyncExitStack, connection: Connection) -> None:
    """Begin no transaction."""


async def _roll_back(connection: Connection) -> None:
    if connection.closed or connection.info.transaction_status is TransactionStatus.IDLE:
        return
    statement = b"rollback"
    if connection.info.transaction_status is TransactionStatus.INERROR:
        # psycopg takes for prepared what an aborted pipeline left out. It forgets what is prepared when it sees the
        # result of a rollback, but it looks at the results of new statements alone, and a comment makes it one.
        statement += f" -- {next(_failures)}".encode()
    await connection.execute(statement)


async def can_act_by_role(connection: AsyncConnection[DictRow]) -> bool:
    """Return whether a login may become Memex' roles; raises StoreUnavailable for a superuser without them."""
    try:
        async with connection.transaction():
            for role in migrate.ROLES:
                await connection.execute("select set_config('role', %s, true)", [role])
                await connection.execute("select set_config('role', 'none', true)")
    except (psycopg.errors.InvalidParameterValue, psycopg.errors.InsufficientPrivilege):
        is_superuser = connection.info.parameter_status("is_superuser") == "on"
        if is_superuser:
            raise StoreUnavailable(
                "The login is a superuser, whom row-level security does not bind, and the roles are missing.",
                hint="Run `memex service migrate` with this login: it makes the roles memex_agent and memex_admin.",
            ) from None
        return False
    return True
