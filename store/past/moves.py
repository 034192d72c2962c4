"""The earlier place of a file that came from another mount, as far as its reader may know it."""

from contextlib import suppress

from memex.errors import Refused
from memex.store.access import Access
from memex.store.database import Connection, row
from memex.store.log.exposure import split_reference
from memex.store.memory import Memory
from memex.store.records import Revision


async def moved_from(connection: Connection, access: Access, revision: Revision) -> Revision | None:
    """Return the last text of the file that a move between mounts made `revision` of.

    Returns:
        None for any other revision, and where the file came from a mount that is closed to the reader: what was a
        user's is told to that user alone.

    Args:
        connection: in a transaction begun for `access`.
        access: the reader's.
        revision: the first one of its file.
    """
    if revision.operation != "move":
        return None
    memory = Memory(connection, access)
    with suppress(Refused):  # it came from where the reader may not look
        end = await _other_end(connection, access, memory, revision)
        # A move is one call: an end that another call made is another file's, by a name that was used twice.
        if end is not None and end.deleted and end.tool_call_id == revision.tool_call_id:
            return await memory.before(end)
    return None


async def _other_end(
    connection: Connection, access: Access, memory: Memory, revision: Revision
) -> Revision | None:
    """Return the deletion at the other end of a move; raises Refused where the reader may not see it."""
    if revision.counterpart is not None:
        path, version = split_reference(revision.counterpart)
        return await memory.read(path, version=version)
    # A revision in a project does not say that it came from user/…, which is another place for each reader.
    found = await row(
        connection,
        "past/revision_moved_to",
        scope_id=access.scope_at("user").scope_id,
        counterpart=revision.reference,
        tool_call_id=revision.tool_call_id,
    )
    return await memory.read(f"user/{found['path']}", version=found["version"]) if found else None
