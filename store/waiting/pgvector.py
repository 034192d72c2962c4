"""pgvector where it stands: in the schema of Memex, or in another one, as managed services install it.

A type, an operator and an operator class are found by the search path alone. Where the path of the login does not
lead to pgvector, each transaction adds its schema to the path.
"""

from collections.abc import Sequence

import psycopg
from psycopg.rows import tuple_row

from memex.errors import StoreUnavailable
from memex.store.sql import sql
from memex.store.waiting.failures import first_line

LOSS_CLASSES = frozenset({"42", "58"})  # of SQLSTATE: access rules and names; errors of the system


class VectorsLost(StoreUnavailable):
    """Vectors could be used when the service started, and cannot any more: the same call is answered by words."""

    default_hint = "Send the request again: it is answered by words. `memex doctor` says what is wrong."


async def find_schema(connection: psycopg.AsyncConnection[object]) -> str | None:
    """Return the schema that must be added to the search path to find the types of pgvector; None if none must."""
    cursor = connection.cursor(row_factory=tuple_row)
    await cursor.execute(sql("upkeep/vectors_schema"))
    found = await cursor.fetchone()
    return None if found is None else str(found[0])


async def add_to_path(connection: psycopg.AsyncConnection[object], schema: str | None) -> None:
    """Add a schema to the search path for the rest of a transaction; None adds nothing."""
    if schema is not None:
        await connection.execute(sql("upkeep/path_extend"), {"schema": schema})


async def why_unusable(
    connection: psycopg.AsyncConnection[object], schema: str | None, roles: Sequence[str]
) -> str | None:
    """Return why those who answer calls cannot compare vectors, by one statement as each of them; None if they can.

    Args:
        connection: of the login, outside a transaction.
        schema: of `find_schema`.
        roles: as which calls run; none of the login itself.
    """
    try:
        async with connection.transaction():
            await add_to_path(connection, schema)
            for role in roles or ("none",):
                await connection.execute("select set_config('role', %s, true)", [role])
                await connection.execute(sql("vectors/embedding_probe"))
                await connection.execute("select set_config('role', 'none', true)")
    except psycopg.Error as error:
        return first_line(error)
    return None


def may_be_loss(error: psycopg.DatabaseError) -> bool:
    """Return whether a statement failed for a reason that a loss of vectors has: a name, a right, or a library."""
    return (error.sqlstate or "")[:2] in LOSS_CLASSES
