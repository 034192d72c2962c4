"""Pools of connections to Postgres, as `Database` opens, counts and closes them."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from psycopg import AsyncConnection, OperationalError
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

from memex.store import pooler
from memex.store.pooler import PoolerSetting
from memex.store.sql import ArrayDumper
from memex.store.waiting.time_limits import socket_limits

Pool = AsyncConnectionPool[AsyncConnection[DictRow]]

CONNECTION_WAIT_S = 10.0  # a request waits so long for a free connection
AWAY_WAIT_S = 1.0  # the same, once a call found that the database is away
RECONNECT_S = 5.0  # how long one attempt to come back goes on, at growing distances; then another begins


@dataclass(frozen=True, slots=True)
class PoolLoad:
    """The numbers of used and idle connections, and of transactions that wait for a connection."""

    used: int
    idle: int
    waiting: int


class _Connection(AsyncConnection[DictRow]):
    """A connection to a server as the connection string asks for, or to a standby while there is no such one."""

    @classmethod
    async def connect(cls, conninfo: str = "", **kwargs: Any) -> "_Connection":
        """Connect; see `connect`."""
        try:
            return await super().connect(conninfo, **kwargs)
        except OperationalError:
            if conninfo_to_dict(conninfo).get("target_session_attrs") not in ("read-write", "primary"):
                raise
        return await super().connect(conninfo, **kwargs | {"target_session_attrs": "any"})


async def connect(conninfo: str, **kwargs: Any) -> AsyncConnection[DictRow]:
    """Connect; if the connection string asks for a primary and there is none, to a standby: reading goes on.

    Raises psycopg.OperationalError if no server answers.
    """
    return await _Connection.connect(conninfo, **kwargs)


def new_pool(conninfo: str, max_connections: int, pooler_setting: PoolerSetting) -> Pool:
    """Return a pool that is not open yet."""
    return AsyncConnectionPool(
        conninfo,
        connection_class=_Connection,
        kwargs={
            "autocommit": True,
            "row_factory": dict_row,
            "application_name": "memex",
            **socket_limits(conninfo),
        },
        min_size=1,
        max_size=max_connections,
        timeout=CONNECTION_WAIT_S,
        reconnect_timeout=RECONNECT_S,
        configure=partial(_configure, pooler_setting=pooler_setting),
        open=False,
    )


def load_of(waiting: int, *pools: Pool | None) -> PoolLoad:
    """Return the load of some pools together, for which so many transactions wait."""
    stats = [pool.get_stats() for pool in pools if pool is not None]
    idle = sum(stat.get("pool_available", 0) for stat in stats)
    return PoolLoad(sum(stat.get("pool_size", 0) for stat in stats) - idle, idle, waiting)


async def close(*pools: Pool | None) -> None:
    """Close every connection."""
    for pool in pools:
        if pool is not None:
            await pool.close()


async def _configure(connection: AsyncConnection[DictRow], *, pooler_setting: PoolerSetting) -> None:
    """Prepare a new connection of the pool."""
    connection.adapters.register_dumper(list, ArrayDumper)
    await pooler.settle(connection, pooler_setting)
