"""Removing the entries of all journals that were told too long ago."""

from datetime import date

import structlog

from memex.errors import MemexError
from memex.service.call import Caller, new_call
from memex.service.service import Service
from memex.store.journal.removal import JournalOwner, entries_before, owners_before, remove_entries
from memex.store.log.call import CallAnswer

NAME = "journal_remove"
MAX_AT_ONCE = 200  # entries that one call deletes

_log = structlog.get_logger("memex.service")


async def remove_told_before(service: Service, before: date) -> int:
    """Remove the entries of all users that were said before a day, with their versions, and return how many.

    Each call removes up to 200 entries of a user. First it deletes them as any file is deleted, which takes them
    out of the search index; this stands in the user's log under the actor `memex`. Then it removes the stored
    words. A removal that was cut off is finished by the next one. A user for whom this fails is left for next time.
    """
    removed = 0
    for owner in await owners_before(service.database, before):
        try:
            removed += await _remove_of(service, owner, before)
        except MemexError as error:
            _log.warning("old_entries_left", tenant=owner.tenant_id, code=error.code)
    if removed:
        _log.info("old_entries_removed", entries=removed, before=before.isoformat())
    return removed


async def _remove_of(service: Service, owner: JournalOwner, before: date) -> int:
    removed = 0
    while found := await entries_before(service.database, owner.scope_id, before, limit=MAX_AT_ONCE):
        standing = [f"user/{path}" for path, stands in found if stands]
        if standing:
            caller = await service.identities.memex_for(owner.tenant_id, owner.user_id)
            await _delete(service, caller, standing)
        gone = await remove_entries(service.database, owner.scope_id, [path for path, _ in found])
        if not gone:  # another process is removing them
            break
        removed += gone
    return removed


async def _delete(service: Service, caller: Caller, paths: list[str]) -> None:
    draft = service.draft(caller)
    for path in paths:
        draft.delete(path, reason=NAME)
    receipt = {"entries": len(paths)}
    call = new_call(caller, NAME, receipt, None)
    await draft.commit(call, lambda _: CallAnswer(receipt, receipt, receipt))
