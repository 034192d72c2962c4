"""Reads and waits on a test's database, as its owner."""

import asyncio
import re
from typing import Any

from memex.store.database import Database

PATIENCE_S = 60
POLL_S = 0.02
COLUMNS = """
    select format('%I.%I', table_schema, table_name) as name, column_name,
           case data_type when 'bytea' then format('encode(%I, ''escape'')', column_name)
                          else format('%I::text', column_name) end as as_text
      from information_schema.columns
     where table_schema in ('public', 'procrastinate')
       and data_type in ('text', 'character varying', 'bytea', 'json', 'jsonb', 'ARRAY', 'USER-DEFINED')
       and (table_schema, table_name) in (select schemaname, tablename from pg_tables)"""


async def select(database: Database, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a statement, also of the queue's tables; none if it is no query."""
    async with database.maintenance() as connection:
        await connection.execute("set local search_path = public, procrastinate")
        cursor = await connection.execute(statement.encode(), parameters or None)
        return [tuple(row.values()) for row in await cursor.fetchall()] if cursor.description else []


async def until(database: Database, condition: str, *parameters: Any) -> None:
    """Wait until a query's one value is true."""
    async with asyncio.timeout(PATIENCE_S):
        while await select(database, condition, *parameters) != [(True,)]:  # noqa: ASYNC110  # the database tells nobody
            await asyncio.sleep(POLL_S)


async def places(database: Database, *wanted: str) -> set[str]:
    """Return the columns of any table in which one of these texts stands, in whatever case, also as bytes."""
    sought = "|".join(map(re.escape, wanted)).lower()
    return {
        f"{table}.{column}"
        for table, column, as_text in await select(database, COLUMNS)
        if await select(database, f"select true from {table} where lower({as_text}) ~ '{sought}' limit 1")  # noqa: S608
    }
