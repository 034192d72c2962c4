"""The statistics that Postgres needs of tables that have grown at once, such as by an import.

Autovacuum finds that out by itself, up to a minute later. Until then, the planner takes the files of a user for one
row, and a context over 10,000 new files takes 20 times as long.
"""

import psycopg
import structlog
from psycopg.sql import SQL, Identifier

from memex.errors import StoreUnavailable
from memex.store.database import Database, rows

TABLES = ("revision", "chunk", "link", "posting", "operation", "document")
LEAST_BYTES = 1 << 20  # of a table; a smaller one is read fast by any plan
DETAIL = 10  # a tenth of Postgres' default: 3,000 rows of each table are looked at, which takes milliseconds

_log = structlog.get_logger(__name__)


async def refresh(database: Database) -> list[str]:
    """Let Postgres analyze the tables that are twice as large as when it last counted them; return their names.

    It is no failure if that cannot be done, since autovacuum will. What another session analyzes is left out.
    """
    try:
        async with database.maintenance() as connection:
            read = await rows(connection, "writes/table_grown", tables=list(TABLES), least_bytes=LEAST_BYTES)
            grown = [record["name"] for record in read]
            if grown:
                await connection.execute(SQL("set local default_statistics_target = {}").format(DETAIL))
                names = SQL(", ").join(map(Identifier, grown))
                await connection.execute(SQL("analyze (skip_locked) {}").format(names))
            return grown
    except (psycopg.Error, StoreUnavailable) as error:
        _log.warning("analyze_failed", error=type(error).__name__)
        return []
