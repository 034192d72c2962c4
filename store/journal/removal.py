"""Removing old entries of journals for good. For maintenance: what a caller deletes keeps its versions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from memex.store.database import Database, row, rows, rows_as
from memex.store.entry_path import FOLDER


@dataclass(frozen=True, slots=True)
class JournalOwner:
    """A user whose journal has old entries."""

    scope_id: int
    tenant_id: int
    user_id: str


async def owners_before(database: Database, before: date) -> Sequence[JournalOwner]:
    """Return the users whose journals have entries of days before a day, deleted entries included."""
    async with database.maintenance() as connection:
        return await rows_as(JournalOwner, connection, "journal/entry_scopes", before=f"{FOLDER}/{before}")


async def entries_before(
    database: Database, scope_id: int, before: date, *, limit: int
) -> list[tuple[str, bool]]:
    """Return the first entries of days before a day by their relative paths, and whether each stands."""
    async with database.maintenance() as connection:
        found = await rows(
            connection, "journal/entry_old", scope_id=scope_id, before=f"{FOLDER}/{before}", limit=limit
        )
    return [(record["path"], record["stands"]) for record in found]


async def remove_entries(database: Database, scope_id: int, paths: Sequence[str]) -> int:
    """Remove deleted entries with all their versions, and return how many; waits for the writer of the scope."""
    async with database.maintenance() as connection:
        await rows(connection, "erasure/erasure_lock_writers", scope_ids=[scope_id])
        removed = await row(connection, "journal/entry_remove", scope_id=scope_id, paths=list(paths))
    return int(removed["entries"]) if removed else 0
