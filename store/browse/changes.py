"""The newest changes of memory, over all scopes that are read."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memex.store.access import Access
from memex.store.database import Connection, rows


@dataclass(frozen=True, slots=True)
class Change:
    """One commit: it made the change number `rev` of a mount, and wrote so many files, `path` the first by name.

    `actor` is who made it, or the channel that it came by.
    """

    mount: str
    rev: int
    made_at: datetime
    actor: str
    files: int
    path: str


async def list_changes(
    connection: Connection, access: Access, *, limit: int, until: datetime | None = None
) -> Sequence[Change]:
    """Return the newest changes of all scopes of an access, at most `limit`; with `until` those made before."""
    found = await rows(
        connection,
        "browse/change_list",
        scope_ids=[scope.scope_id for scope in access.scopes],
        limit=limit,
        until=until,
    )
    return [
        Change(
            mount=access.by_id[row["scope_id"]].mount,
            rev=row["rev"],
            made_at=row["created_at"],
            actor=row["actor"],
            files=row["files"],
            path=access.by_id[row["scope_id"]].virtual(row["path"]),
        )
        for row in found
    ]
