"""Imports of uploaded exports, as their users see them: how far one is, and how others ended."""

import secrets

from memex.errors import ImportInProgress, OperationNotFound, ValidationFailed
from memex.service.call import Caller
from memex.service.service import Service
from memex.store.conversations.imports import (
    ConversationImport,
    ImportProgress,
    begin_import,
    cancel_import,
    list_imports,
    note_import,
)
from memex.store.log.call import CallAnswer

NAME = "conversation_import"
CANCEL = "conversation_import_cancel"
MAX_NAME_CHARS = 200


async def begin(service: Service, caller: Caller, name: str, *, is_dry_run: bool) -> str:
    """Begin an import of a file, log that, and return the id of the import.

    Raises:
        ValidationFailed: the call names no user.
        ImportInProgress: another import of the user is under way.
        DiskLow: nothing more can be stored.
    """
    asked = {"dry_run": is_dry_run}
    async with service.recorder.recorded(caller, NAME, asked) as log:
        if caller.access.user_id is None:
            raise ValidationFailed(
                "This call names no user.", hint="Name the user in the menu at the top right."
            )
        access = await service.identities.open_conversations(caller)
        import_id = f"imp_{secrets.token_hex(8)}"
        if not await begin_import(
            service.database, access, import_id, name[:MAX_NAME_CHARS], is_dry_run=is_dry_run
        ):
            raise ImportInProgress("Another import of this user is under way.")
        await log.add("answered", CallAnswer({"import_id": import_id}, asked, {"import_id": import_id}))
    return import_id


async def note(service: Service, caller: Caller, import_id: str, progress: ImportProgress) -> bool:
    """Note how far an import is, and return whether it is to go on. What has ended is not changed."""
    if caller.access.conversations is None:  # the user was erased meanwhile
        return False
    return await note_import(service.database, caller.access, import_id, progress) is False


async def cancel(service: Service, caller: Caller, import_id: str) -> None:
    """Ask for the end of an import, whichever process reads it; what was stored stays.

    Raises:
        OperationNotFound: the user has no such import.
    """
    asked = {"import_id": import_id}
    async with service.recorder.recorded(caller, CANCEL, asked) as log:
        is_open = await cancel_import(service.database, caller.access, import_id)
        if not is_open:
            await one(service, caller, import_id)
        await log.add("answered", CallAnswer({"was_open": is_open}, asked, {"was_open": is_open}))


async def one(service: Service, caller: Caller, import_id: str) -> ConversationImport:
    """Return an import of the user; raises OperationNotFound."""
    found = await list_imports(service.database, caller.access, import_id)
    if not found:
        raise OperationNotFound(
            "There is no such import.", hint="The page of imports lists the last ones.", reason="import"
        )
    return found[0]
