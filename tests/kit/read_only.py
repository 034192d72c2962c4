"""A database that takes no writes for a while, as in a failover in which the old server goes on."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

END_SESSIONS = """
select pg_terminate_backend(pid, 10000)
  from pg_stat_activity
 where datname = current_database()
   and usename = current_user
   and pid <> pg_backend_pid()
"""


class Switch:
    """Makes a database read-only for new sessions, and ends those that there are; or only the latter."""

    def __init__(self, connection: psycopg.AsyncConnection[tuple[object, ...]]) -> None:
        self._connection = connection
        self._name = Identifier(connection.info.dbname)

    async def end_sessions(self) -> int:
        """End all other sessions, as a server that stops does (57P01), and return how many those were."""
        return (await self._connection.execute(END_SESSIONS)).rowcount

    async def set(self, *, read_only: bool, ends_sessions: bool = True) -> None:
        """Let new sessions write or not."""
        value = "on" if read_only else "off"
        await self._connection.execute(
            SQL("alter database {} set default_transaction_read_only = {}").format(
                self._name, Identifier(value)
            )
        )
        if ends_sessions:
            await self.end_sessions()


@asynccontextmanager
async def switch_of(conninfo: str) -> AsyncIterator[Switch]:
    """The switch of a database. A session of its own turns it."""
    own = make_conninfo(conninfo, options="-c default_transaction_read_only=off", application_name="switch")
    async with await psycopg.AsyncConnection.connect(own, autocommit=True) as connection:
        yield Switch(connection)
