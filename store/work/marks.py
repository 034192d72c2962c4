"""The decisions that a person made by hand about items of work."""

from collections.abc import Callable
from datetime import date, datetime

from memex.store.access import Access
from memex.store.database import Connection, Shape, row, rows_as


async def list_marks(shape: Callable[..., Shape], connection: Connection, scope_id: int) -> list[Shape]:
    """Return all that was decided by hand, in the order of time, as `shape` makes it of `work/mark_list`."""
    return await rows_as(shape, connection, "work/mark_list", scope_id=scope_id)


async def add_mark(
    connection: Connection,
    access: Access,
    *,
    item_id: str,
    action: str,
    at: datetime,
    tool_call_id: str,
    conversation_id: str | None,
    ends_on: date | None = None,
) -> None:
    """Note what was decided about an item; `conversation_id` is where the item comes from."""
    if access.conversations is None:
        return
    await row(
        connection,
        "work/mark_add",
        scope_id=access.conversations.scope_id,
        tenant_id=access.tenant_id,
        item_id=item_id,
        marked_at=at,
        action=action,
        tool_call_id=tool_call_id,
        conversation_id=conversation_id,
        ends_on=ends_on,
    )
