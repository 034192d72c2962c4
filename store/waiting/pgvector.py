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

_LOSSES = (
    psycopg.errors.UndefinedObject,
    psycopg.errors.UndefinedFunction,
    psycopg.errors.UndefinedColumn,
)


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


def is_loss(error: psycopg.DatabaseError, schema: str | None) -> bool:
    """Return whether a statement failed because pgvector is not there any more, or not for this login.

    Args:
        error: of the statement.
        schema: of `find_schema`.
    """
    said = first_line(error)
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        return schema is not None and said == f"permission denied for schema {schema}"
    return isinstance(error, _LOSSES) and any(word in said for word in ("halfvec", "vector", "<=>"))
