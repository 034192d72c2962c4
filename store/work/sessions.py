"""Sessions of work with their places, and the labels that a person linked to projects."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memex.store.access import Access
from memex.store.database import Connection, row, rows, rows_as
from memex.store.work.records import PlacedSession

MAX_LINKS = 10_000


@dataclass(frozen=True, slots=True)
class LabelLink:
    """A label that belongs to a project, as a person said."""

    label: str
    slug: str
    linked_at: datetime


async def list_sessions(
    connection: Connection, scope_id: int, *, project: str | None = None, limit: int
) -> list[PlacedSession]:
    """Return the sessions of a project or a label, or all, the newest turn first."""
    return await rows_as(
        PlacedSession, connection, "work/session_list", scope_id=scope_id, project=project, limit=limit
    )


async def places_of_folders(
    connection: Connection, scope_id: int, folders: Sequence[str]
) -> dict[str, dict[str, str]]:
    """Return label and root of the places in which folders stand, by folder; not of those that stand in none."""
    found = await rows(connection, "work/place_of_folder", scope_id=scope_id, folders=list(folders))
    return {record["folder"]: {"label": record["label"], "root": record["root"]} for record in found}


async def list_links(connection: Connection, scope_id: int) -> list[LabelLink]:
    """Return the labels that the user linked."""
    return await rows_as(LabelLink, connection, "work/link_list", scope_id=scope_id)


async def put_link(connection: Connection, access: Access, label: str, slug: str, at: datetime) -> bool:
    """Link a label to a project; return whether that changed something."""
    if access.conversations is None:
        raise ValueError("the access has no scope of conversations")
    changed = await row(
        connection,
        "work/link_put",
        scope_id=access.conversations.scope_id,
        tenant_id=access.tenant_id,
        label=label,
        slug=slug,
        linked_at=at,
        max_links=MAX_LINKS,
    )
    return changed is not None


async def remove_link(connection: Connection, scope_id: int, label: str) -> bool:
    """Take the link of a label away; return whether there was one."""
    return await row(connection, "work/link_remove", scope_id=scope_id, label=label) is not None
