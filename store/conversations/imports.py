"""Imports of uploaded exports: how far each is, in a row that all workers of a service see."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from memex.store.access import Access
from memex.store.database import Database, batch, row, rows_as

SILENT_S = 30.0  # an import whose process was not heard of for so long was cut off
KEPT = 20  # imports of a user that are remembered

ImportState = Literal["receiving", "waiting", "reading", "done", "stopped", "cancelled", "cut_off"]


@dataclass(frozen=True, slots=True)
class ConversationImport:
    """An import of an uploaded file.

    Attributes:
        import_id: its name in addresses.
        name: of the file, as the browser gave it.
        size_bytes: that were received.
        report: what became of what was read so far; empty before.
        error: why it stopped: `code`, `message` and `hint`.
        wants_end: the person cancelled it.
        started_at, ended_at: when it began and ended.
        state: what happens to it: its file is received, waits or is read; or how it ended. An import that was
            `cut_off` lost its client or its process.
    """

    import_id: str
    name: str
    is_dry_run: bool
    size_bytes: int
    report: Mapping[str, Any]
    error: Mapping[str, str] | None
    wants_end: bool
    started_at: datetime
    ended_at: datetime | None
    state: ImportState

    @property
    def is_open(self) -> bool:
        """Return whether the import goes on."""
        return self.state in ("receiving", "waiting", "reading")


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """The progress of an import; see `ConversationImport`."""

    state: ImportState
    size_bytes: int
    report: Mapping[str, Any]
    error: Mapping[str, str] | None = None
    is_ended: bool = False


async def begin_import(
    database: Database, access: Access, import_id: str, name: str, *, is_dry_run: bool
) -> bool:
    """Begin an import; return whether it is the only one of its user that is under way.

    Raises:
        DiskLow: the database may not grow.
    """
    database.space.refuse_growth()
    place = {"scope_id": _scope_id(access)}
    named = {"tenant_id": access.tenant_id, "import_id": import_id, "name": name, "is_dry_run": is_dry_run}
    async with database.transaction(access.for_conversations()) as connection:
        _, begun = await batch(
            connection,
            ("conversations/import_expire", place | {"silent_s": SILENT_S, "kept": KEPT - 1}),
            ("conversations/import_begin", place | named),
        )
    return bool(begun)


async def note_import(
    database: Database, access: Access, import_id: str, progress: ImportProgress
) -> bool | None:
    """Note how far an import is. Return whether its person wants its end; None if it is not under way any more."""
    async with database.transaction(
        access.for_conversations(), waits_for_disk=progress.is_ended
    ) as connection:
        noted = await row(
            connection,
            "conversations/import_note",
            scope_id=_scope_id(access),
            import_id=import_id,
            state=progress.state,
            size_bytes=progress.size_bytes,
            report=json.dumps(progress.report),
            error=json.dumps(progress.error) if progress.error else None,
            is_ended=progress.is_ended,
        )
    return None if noted is None else bool(noted["wants_end"])


async def cancel_import(database: Database, access: Access, import_id: str) -> bool:
    """Ask the process that reads an import to end it; return whether the import is under way."""
    if access.conversations is None:
        return False
    async with database.transaction(access.for_conversations()) as connection:
        found = await row(
            connection, "conversations/import_cancel", scope_id=_scope_id(access), import_id=import_id
        )
    return found is not None


async def list_imports(
    database: Database, access: Access, import_id: str | None = None
) -> list[ConversationImport]:
    """Return the imports of a user, the newest first; that of an id alone, if one is given."""
    if access.conversations is None:
        return []
    async with database.transaction(access.for_conversations()) as connection:
        return await rows_as(
            ConversationImport,
            connection,
            "conversations/import_list",
            scope_id=_scope_id(access),
            import_id=import_id,
            silent_s=SILENT_S,
            kept=KEPT,
        )


def _scope_id(access: Access) -> int:
    if access.conversations is None:
        raise ValueError("the access has no scope of conversations")
    return access.conversations.scope_id
