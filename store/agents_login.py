"""A login for the transactions of agents that owns nothing, beside the login that owns the tables.

Whatever SQL is sent in a transaction of an agent, it can leave the role `memex_agent` for this login alone, and the
login may do nothing but become `memex_agent` again. So neither `reset role` nor `set role memex_admin` nor
`set memex.maintenance = 'on'` opens anything there.

Row-level security believes settings such as `memex.readable`, and whoever sends SQL can change a setting. So the
service sends a message authentication code of them with each transaction of an agent, a *seal* (HMAC-SHA256, RFC
2104), whose key this login cannot read. The functions that the policies ask check the seal. If it does not fit, the
transaction may see nothing.
"""

import hashlib
import secrets
from collections.abc import Sequence
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import DictRow
from psycopg.sql import SQL, Identifier

from memex.errors import StoreUnavailable
from memex.store.access import Access
from memex.store.migrate import LOCK_KEY
from memex.store.sql import sql

KEY_BYTES = 64  # a block of SHA-256
_IPAD, _OPAD = (bytes(byte ^ pad for byte in range(256)) for pad in (0x36, 0x5C))
HINT = "As a superuser: create role NAME login noinherit password '…'; grant memex_agent to NAME;"
ALLOW_CHECK = SQL(
    "grant execute on function "
    "check_access(bigint, text, text, bigint, bytea, bigint, bytea, bigint[], bigint[]) to {}"
)


class Sealer:
    """Makes seals.

    Args:
        inner_key, outer_key: the key, padded, and mixed with ipad and opad.
    """

    def __init__(self, inner_key: bytes, outer_key: bytes) -> None:
        self._inner, self._outer = hashlib.sha256(inner_key), hashlib.sha256(outer_key)

    def seal(self, access: Access) -> str:
        """Return the seal of what a transaction for an access says, in hexadecimal."""
        said = [
            str(access.tenant_id),
            _array(access.readable_ids),
            _array(access.writable_ids),
            "" if access.visitors_id is None else str(access.visitors_id),
            access.user_id or "",
        ]
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update("|".join(said).encode())
        outer.update(inner.digest())
        return outer.hexdigest()


async def check(owner: AsyncConnection[DictRow], agents: AsyncConnection[DictRow]) -> Sealer:
    """Return what seals the transactions of a login for agents.

    A login that may do more than agents, or that belongs to another database, is refused. A transaction calls
    `check_access` before it becomes `memex_agent`, so the login itself is allowed to call it.

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
    return await _load_sealer(owner)


async def _describe(connection: AsyncConnection[DictRow]) -> dict[str, Any]:
    found = await (await connection.execute(sql("upkeep/login_describe"))).fetchone()
    assert found is not None  # noqa: S101  # a select without a table
    return found


def _refused(why: str, hint: str) -> StoreUnavailable:
    return StoreUnavailable(f"MEMEX_AGENT_DATABASE_URL {why}.", hint=hint)


async def _load_sealer(owner: AsyncConnection[DictRow]) -> Sealer:
    """Return what makes the seals of a database; the first service makes the key."""
    key = secrets.token_bytes(KEY_BYTES)
    made = {"inner_key": key.translate(_IPAD), "outer_key": key.translate(_OPAD)}
    async with owner.transaction():
        await owner.execute("select set_config('memex.maintenance', 'on', true)")
        found = await (await owner.execute(sql("upkeep/seal_find"))).fetchone()
        if found is None:
            found = await (await owner.execute(sql("upkeep/seal_make"), made)).fetchone()
        if found is None:  # another service made it at the same moment
            found = await (await owner.execute(sql("upkeep/seal_make"), made)).fetchone()
    assert found is not None  # noqa: S101  # there is a row by now
    return Sealer(bytes(found["inner_key"]), bytes(found["outer_key"]))


def _array(numbers: Sequence[int]) -> str:
    """Return numbers as Postgres writes an array of them."""
    return f"{{{','.join(map(str, numbers))}}}"
