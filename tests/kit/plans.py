"""Plans of Postgres, as `explain (format json)` gives them."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import psycopg

from memex.store.database import Connection
from memex.store.sql import sql


def plan_nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Return a plan's nodes, from the top down."""
    yield plan
    for child in plan.get("Plans", ()):
        yield from plan_nodes(child)


async def generic_plan(
    connection: Connection, name: str, parameters: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the nodes of a statement's generic plan, which is the one that the application runs."""
    text = sql(name).decode()
    names = list(dict.fromkeys(re.findall(r"%\((\w+)\)[sb]", text)))
    statement = re.sub(r"%\((\w+)\)[sb]", lambda match: f"${names.index(match[1]) + 1}", text)
    statement = statement.replace("%%", "%")
    await connection.execute("set local plan_cache_mode = force_generic_plan")
    await connection.execute(f"prepare hot as {statement}".encode())
    values = b", ".join(psycopg.sql.Literal(parameters.get(one)).as_bytes(connection) for one in names)
    cursor = await connection.execute(b"explain (format json) execute hot (" + values + b")")
    [row] = await cursor.fetchall()
    await connection.execute("deallocate hot")
    return list(plan_nodes(row["QUERY PLAN"][0]["Plan"]))
