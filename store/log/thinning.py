"""Thinning: of versions that are old, the last one of each day stays, and every one that something names.

A version that is thinned keeps its row, so numbers, days and what stood when stay true. Its text goes. The row says
how much of its beginning and its end a later version of the same day has too: what stood there is read from it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Any

from memex.store.database import Database, Rows, row, rows
from memex.store.sql import sql

VERSIONS_A_BATCH = 100  # in one transaction, under the lock of their scope


@dataclass(frozen=True, slots=True)
class ThinReport:
    """Counts of the versions that were thinned, or would be, and of the bytes of their texts."""

    versions: int = 0
    size_bytes: int = 0


async def thin(
    database: Database,
    before: datetime,
    *,
    tenant_id: int | None = None,
    is_dry_run: bool = False,
    on_versions: Callable[[int], object] = lambda _: None,
) -> ThinReport:
    """Take the texts of old versions that are not the last one of their file and day, and that nothing names.

    Small transactions follow each other, each under the lock of its scope. Where it is stopped, what it has thinned
    is thinned, and the next run goes on.

    The database is opened as the owner's; without `tenant_id` all tenants are meant. The day of `before` counts
    as new. `on_versions` is told how many versions each transaction thinned.
    """
    before = datetime.combine(before.astimezone(UTC).date(), time(), UTC)
    async with database.maintenance() as connection:
        scopes = await rows(connection, "log/thinned_scopes", tenant_id=tenant_id)
    done = ThinReport()
    for scope in scopes:
        place: tuple[int, int] = (0, 0)
        while True:
            async with database.maintenance() as connection:
                scope_id = scope["scope_id"]
                if not is_dry_run:
                    await connection.execute(sql("writes/scope_lock"), {"scope_ids": [scope_id]})
                names = await rows(connection, "log/thinned_names", scope_id=scope_id)
                found = await rows(
                    connection,
                    "log/thinned_page",
                    **scope,
                    before=before,
                    after_rev=place[0],
                    after_file=place[1],
                    names=[named["name"] for named in names],
                    limit=VERSIONS_A_BATCH,
                )
                if not found:
                    break
                place = found[-1]["rev"], found[-1]["file_id"]
                size_bytes = sum(len(version["content"].encode()) for version in found)
                counted: dict[str, Any] | None = {"versions": len(found), "size_bytes": size_bytes}
                if not is_dry_run:
                    counted = await row(connection, "log/thinned_write", scope_id=scope_id, **_columns(found))
            assert counted is not None  # noqa: S101  # always one row
            done = ThinReport(done.versions + counted["versions"], done.size_bytes + counted["size_bytes"])
            on_versions(counted["versions"])
    return done


def _columns(found: Rows) -> dict[str, Sequence[int]]:
    same = [_same_ends(version["content"], version["last_content"]) for version in found]
    return {
        "file_ids": [version["file_id"] for version in found],
        "revs": [version["rev"] for version in found],
        "last_revs": [version["last_rev"] for version in found],
        "first_chars": [first for first, _ in same],
        "last_chars": [last for _, last in same],
    }


def _same_ends(text: str, later: str) -> tuple[int, int]:
    """Return how many characters at the beginning, and then at the end, two texts have in common."""
    first = _same_beginning(text, later)
    return first, _same_beginning(text[first:][::-1], later[first:][::-1])


def _same_beginning(text: str, later: str) -> int:
    differs = (at for at, (one, other) in enumerate(zip(text, later, strict=False)) if one != other)
    return next(differs, min(len(text), len(later)))
