"""The questions that a proposal is held against, and a copy of the mount to ask them of."""

from datetime import datetime

from memex.store.access import Access, Scope
from memex.store.database import Database, rows
from memex.store.sql import sql


async def read_questions(
    database: Database, access: Access, scope: Scope, since: datetime, *, limit: int
) -> list[tuple[str, bool]]:
    """Return questions that were asked of a mount, the user's first, and whether a captured case asks each."""
    async with database.maintenance() as connection:
        found = await rows(connection, "dreams/question_scopes", scope_id=scope.scope_id)
        asked = await rows(
            connection,
            "dreams/question_list",
            tenant_id=access.tenant_id,
            user_id=access.user_id or "",
            scope_ids=[record["scope_id"] for record in found],
            mount=scope.mount,
            since=since,
            limit=limit,
        )
    return [(entry["query"], entry["kept"]) for entry in asked]


async def copy_states(database: Database, scope: Scope, copy: Scope, tenant_id: int) -> None:
    """Copy what models say of the texts of a mount, so that the copy ranks as the mount does."""
    given = {"from_scope": scope.scope_id, "to_scope": copy.scope_id, "tenant_id": tenant_id}
    async with database.maintenance() as connection:
        await connection.execute(sql("dreams/token_copy"), given)
        if database.has_vectors:
            await connection.execute(sql("dreams/vector_copy"), given)
