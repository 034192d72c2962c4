"""Retention of the log: calls are kept, or removed when they are old.

The tool call id of a call that was removed can be used again, and nobody can explain, undo or replay the call any
more. What it wrote stays: revisions are no part of the log.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from memex.errors import OperationNotFound
from memex.store.access import Access
from memex.store.database import Connection, Database, Rows, row, rows
from memex.store.sql import sql

CALLS_A_BATCH = 1_000  # looked at in one transaction


@dataclass(frozen=True, slots=True)
class PruneReport:
    """Counts of what was removed from the log, or would be.

    Attributes:
        calls: attempts at tool calls.
        operations: rows: the calls and the operations inside them.
        prompts: texts that no call names any more; not counted by a dry run.
        size_bytes: of all of them as they are stored, without indexes: the files of the database hold the room for
            new rows.
    """

    calls: int = 0
    operations: int = 0
    prompts: int = 0
    size_bytes: int = 0


async def keep(connection: Connection, access: Access, tool_call_id: str, *, kept: bool = True) -> int:
    """Let retention leave a call of the caller's, or with `kept` false no longer; return how many attempts it has.

    The connection is one of `Database.maintenance`, because callers may only add to the log. Every attempt at the
    call is meant.

    Raises:
        OperationNotFound: the caller made no such call.
    """
    found = await rows(
        connection,
        "log/operation_keep",
        scope_ids=access.visible_logs,
        user_id=access.user_id or "",
        tool_call_id=tool_call_id,
        kept=kept,
    )
    if not found:
        raise OperationNotFound(f"No call {tool_call_id!r} of this user.", tool_call_id=tool_call_id)
    return len(found)


async def prune(
    database: Database,
    before: datetime,
    *,
    tenant_id: int | None = None,
    is_dry_run: bool = False,
    on_calls: Callable[[int], object] = lambda _: None,
) -> PruneReport:
    """Remove the calls made before a time, with what is inside them, and the prompts that nothing names then.

    A call goes when all attempts at it are that old. Those stay that are kept, run, are in the queue or were given
    up there. It takes small transactions one after the other, so the service may run meanwhile; where it is
    stopped, what it has removed is gone and the rest is there.

    The database is opened as the owner's; without `tenant_id` all tenants are meant. `on_calls` is told how many
    calls each transaction removed.
    """
    pruned = PruneReport()
    place = (0, 0)
    while True:
        async with database.maintenance() as connection:
            after = {"after_scope_id": place[0], "after_operation_id": place[1], "tenant_id": tenant_id}
            last = await row(connection, "log/operation_page", **after, limit=CALLS_A_BATCH)
            if last is None:
                break
            place = last["scope_id"], last["operation_id"]
            [gone] = await rows(
                connection,
                "log/operation_old" if is_dry_run else "log/operation_prune",
                **after,
                last_scope_id=place[0],
                last_operation_id=place[1],
                before=before,
            )
        pruned = PruneReport(
            pruned.calls + gone["calls"],
            pruned.operations + gone["operations"],
            size_bytes=pruned.size_bytes + gone["size_bytes"],
        )
        on_calls(gone["calls"])
    if is_dry_run:
        return pruned
    async with database.maintenance() as connection:
        await connection.execute(sql("log/hour_prune"), {"before": before, "tenant_id": tenant_id})
    prompts = await _prune_prompts(database, tenant_id)
    size_bytes = pruned.size_bytes + sum(prompt["size_bytes"] for prompt in prompts)
    return PruneReport(pruned.calls, pruned.operations, len(prompts), size_bytes)


async def _prune_prompts(database: Database, tenant_id: int | None) -> Rows:
    async with database.maintenance() as connection:
        if not await rows(connection, "log/prompt_unnamed", tenant_id=tenant_id):
            return []
    async with database.maintenance() as connection:
        return await remove_unnamed_prompts(connection, tenant_id)


async def remove_unnamed_prompts(connection: Connection, tenant_id: int | None) -> Rows:
    """Remove the prompts that no call names, of one tenant or of all; return the bytes of each. For maintenance."""
    # Whoever logs a call keeps the prompt first and names it then: in between it would look unnamed.
    await connection.execute(sql("log/prompt_lock"))
    unnamed = await rows(connection, "log/prompt_unnamed", tenant_id=tenant_id)
    return await rows(
        connection,
        "log/prompt_remove",
        tenant_ids=[prompt["tenant_id"] for prompt in unnamed],
        sha256s=[bytes(prompt["sha256"]) for prompt in unnamed],
    )
