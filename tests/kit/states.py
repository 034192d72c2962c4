"""Whole states of memory, read straight from the revisions."""

from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime

from memex.store.access import Access
from memex.store.database import Connection, rows
from memex.store.records import Revision, revision_of

LAST_REV_AT = b"""
select rev
  from revision
 where scope_id = %(scope_id)s
   and created_at <= %(time)s
 order by rev desc
 limit 1
"""

COLUMNS = {field.name for field in fields(Revision)} - {"scope"}


async def standing_at(
    connection: Connection, access: Access, mount: str, moment: int | datetime
) -> Sequence[Revision]:
    """Return every file of a mount as it stood after a change, or at a time, with its text.

    Args:
        connection: in a transaction begun for `access`.
        access: whose mount is read.
        mount: user, shared or projects/<slug>.
        moment: the number of a change (0 is before the first), or a time with its zone.
    """
    scope = access.scope_at(mount)
    if isinstance(moment, datetime):
        cursor = await connection.execute(LAST_REV_AT, {"scope_id": scope.scope_id, "time": moment})
        last = await cursor.fetchone()
        moment = last["rev"] if last else 0
    found = await rows(connection, "memory/revision_at", scope_id=scope.scope_id, rev=moment)
    return [revision_of(scope, **{name: record[name] for name in COLUMNS}) for record in found]
