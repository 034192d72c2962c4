"""A pooler between Memex and Postgres, such as PgBouncer, and what Memex does without behind one.

In transaction mode, each transaction of a connection may run on another connection of the server. So nothing may
be left for the next transaction: no prepared statement, no setting of the session, no lock that outlives a commit.
"""

from typing import Any, Literal

import psycopg
from psycopg.rows import tuple_row

from memex.errors import StoreUnavailable

PoolerSetting = Literal["auto", "none", "transaction"]


async def settle(connection: psycopg.AsyncConnection[Any], setting: PoolerSetting) -> None:
    """Let a new connection prepare no statement if it leads through a pooler.

    Args:
        connection: in autocommit mode, outside a transaction.
        setting: `transaction` takes a pooler for granted; with the others, a pooler is noticed.
    """
    if setting == "transaction" or await _leads_to_pooler(connection):
        connection.prepare_threshold = None


async def check(connection: psycopg.AsyncConnection[Any], setting: PoolerSetting) -> bool:
    """Settle a connection, and return whether it leads through a pooler.

    Raises:
        StoreUnavailable: there is a pooler and `setting` is none, or the pooler allows no transactions.
    """
    await settle(connection, setting)
    is_pooled = connection.prepare_threshold is None
    if is_pooled and setting == "none":
        raise StoreUnavailable(
            "The connection to the database leads through a pooler, and MEMEX_POOLER is none.",
            hint="Connect DATABASE_URL to Postgres itself, or unset MEMEX_POOLER to use the pooler.",
        )
    if is_pooled:
        try:
            async with connection.transaction():
                pass
        except psycopg.errors.ProtocolViolation as error:
            if "statement pooling" not in str(error):
                raise
            raise StoreUnavailable(
                "The pooler in front of the database allows no transactions.",
                hint="Let it pool transactions (PgBouncer: pool_mode = transaction), or connect DATABASE_URL to "
                "Postgres itself.",
            ) from error
    return is_pooled


def hint_of(error: psycopg.Error) -> str:
    """Return what to do if a pooler refused a connection because of its options; else nothing."""
    if "unsupported startup parameter" not in str(error):
        return ""
    return (
        "A pooler in front of the database does not take `options`: remove it from DATABASE_URL, and unset "
        "PGOPTIONS."
    )


async def _leads_to_pooler(connection: psycopg.AsyncConnection[Any]) -> bool:
    """Return whether the process that answers is not the one that the connection was told of at its start.

    A pooler invents that number: with it a client cancels a statement, whichever server connection runs it.
    """
    async with connection.cursor(row_factory=tuple_row) as cursor:
        await cursor.execute("select pg_backend_pid()")
        return await cursor.fetchone() != (connection.info.backend_pid,)
