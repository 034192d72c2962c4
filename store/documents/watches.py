"""Watched roots: a client says that it watches a folder, and learns whether somebody asks for a sync."""

from datetime import datetime, timedelta

from memex.errors import DocumentNotFound
from memex.store.access import Access, Scope
from memex.store.database import Database, row
from memex.store.documents.records import DocumentRoot
from memex.store.documents.roots import check_owner, list_roots, not_found
from memex.store.sql import sql

POLL_S = 5  # between two requests of a watching client
PATIENCE = timedelta(seconds=30)  # after which a client of which nothing is heard counts as gone
RENEWED = timedelta(
    seconds=10
)  # so much later a watch must last before it is written again: most requests only read


async def watch(
    database: Database, access: Access, scope: Scope, name: str, *, now: datetime, is_over: bool = False
) -> datetime | None:
    """Note that a client watches a root, and return when somebody last asked for a sync; None if nobody did.

    Raises:
        DocumentNotFound: there is no such root, or it is being removed.
        Forbidden: another user owns the root.
    """
    place = {"scope_id": scope.scope_id, "name": name}
    async with database.transaction(access.limited_to((scope,)), waits_for_disk=False) as connection:
        found = await row(connection, "documents/root_show", **place)
        check_owner(access, found, name)
        if found is None or found["state"] == "removing":
            raise not_found(name)
        until, before = None if is_over else now + PATIENCE, found["watched_until"]
        is_news = before is not None if until is None else before is None or before + RENEWED < until
        if is_news:
            numbers = {"scope_id": scope.scope_id, "root_no": found["root_no"]}
            await connection.execute(sql("documents/root_watch"), numbers | {"until": until})
        stat = await row(connection, "documents/stat_wanted", scope_id=scope.scope_id)
    if stat is None:
        raise DocumentNotFound(f"There are no documents of {scope.mount}.")
    wanted_at: datetime | None = stat["wanted_at"]
    return wanted_at


async def request_sync(
    database: Database, access: Access, scope: Scope, *, now: datetime
) -> list[DocumentRoot]:
    """Ask the clients that watch roots of a scope for a sync, and return all its roots.

    Whoever reads the documents may ask. Nothing is noted if no root is watched.
    """
    async with database.transaction(access.limited_to((scope,))) as connection:
        found = await list_roots(connection, (scope,))
        if any(root.is_watched(now) for root in found):
            await connection.execute(sql("documents/stat_want"), {"scope_id": scope.scope_id, "now": now})
    return found
