"""A login for the transactions of agents that owns nothing, beside the login that owns the tables.

Whatever SQL is sent in a transaction of an agent, it can leave the role `memex_agent` for this login alone, and the
login may do nothing but become `memex_agent` again. So neither `reset role` nor `set role memex_admin` nor
`set memex.maintenance = 'on'` opens anything there.
"""

from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import DictRow
from psycopg.sql import SQL, Identifier

from memex.errors import StoreUnavailable
from memex.store.migrate import LOCK_KEY
from memex.store.sql import sql

HINT = "As a superuser: create role NAME login noinherit password '…'; grant memex_agent to NAME;"
ALLOW_CHECK = SQL(
    "grant execute on function "
    "check_access(bigint, text, text, bigint, bytea, bigint, bytea, bigint[], bigint[]) to {}"
)


async def check(owner: AsyncConnection[DictRow], agents: AsyncConnection[DictRow]) -> None:
    """Refuse a login for agents that may do more than they, or that belongs to another database.

    A transaction calls `check_access` before it becomes `memex_agent`, so the login itself is allowed to call it.

    Args:
        owner: a connection of the login that owns the tables.
        agents: a connection of the login for agents.

    Raises:
        StoreUnavailable: names what is wrong, with what to do.
    """
    theirs, ours = await _describe(agents), await _describe(owner)
    if (theirs["database"], theirs["started_at"]) != (ours["database"], ours["started_at"]):
        raise _refused("leads to another database than DATABASE_URL", "Name the same server and database.")
    if theirs["login"] == ours["login"]:
        raise _refused("names the login of DATABASE_URL", HINT)
    if theirs["is_privileged"]:
        raise _refused("names a login that row-level security does not bind", HINT)
    if theirs["owns_tables"]:
        raise _refused("names a login that owns tables", HINT)
    if theirs["other_roles"]:
        raise _refused(f"names a login that may also become {', '.join(theirs['other_roles'])}", HINT)
    if not theirs["is_agent"] or theirs["inherits"]:
        raise _refused(
            "names a login that is no member of memex_agent, or one that inherits its rights", HINT
        )
    if not theirs["may_check"]:
        async with owner.transaction():  # of processes that start at once, one after the other
            await owner.execute("select pg_advisory_xact_lock(%s)", [LOCK_KEY])
            await owner.execute(ALLOW_CHECK.format(Identifier(theirs["login"])))


async def _describe(connection: AsyncConnection[DictRow]) -> dict[str, Any]:
    found = await (await connection.execute(sql("upkeep/login_describe"))).fetchone()
    assert found is not None  # noqa: S101  # a select without a table
    return found


def _refused(why: str, hint: str) -> StoreUnavailable:
    return StoreUnavailable(f"MEMEX_AGENT_DATABASE_URL {why}.", hint=hint)
