"""The projects that a project reads from. Row-level security shows them to members of both alone."""

from datetime import datetime

from memex.store.access import Access, Scope
from memex.store.database import Connection, row, rows

MAX_READINGS = 20  # of a project


async def list_readings(connection: Connection, access: Access, scope: Scope) -> list[tuple[Scope, datetime]]:
    """Return the projects that one reads from and that the caller may read, with the time since when it does."""
    readable = {project.scope_id: project for project in access.scopes if project.is_project}
    found = await rows(connection, "work/reading_list", scope_id=scope.scope_id, readable=sorted(readable))
    return [(readable[record["read_scope_id"]], record["added_at"]) for record in found]


async def add_reading(
    connection: Connection, access: Access, scope: Scope, read: Scope, at: datetime
) -> bool:
    """Let a project read from another one; return whether that changed something."""
    added = await row(
        connection,
        "work/reading_add",
        scope_id=scope.scope_id,
        tenant_id=access.tenant_id,
        read_scope_id=read.scope_id,
        added_at=at,
        max_readings=MAX_READINGS,
    )
    return added is not None


async def remove_reading(connection: Connection, scope: Scope, read: Scope) -> bool:
    """Let a project read from another one no more; return whether it did."""
    gone = await row(connection, "work/reading_remove", scope_id=scope.scope_id, read_scope_id=read.scope_id)
    return gone is not None
