"""A file that is not there: the hint names files that the caller may read and may have meant."""

from contextlib import suppress

from memex.errors import FileNotFound, MemexError
from memex.store.access import Access
from memex.store.database import Database
from memex.store.memory import Memory
from memex.store.near import did_you_mean, near_names

MAX_COMPARED = 1_000  # paths of the same mount, and paths of all mounts


async def suggest_paths(database: Database, access: Access, error: FileNotFound) -> None:
    """Put near paths into the hint and the details of an error. Only the caller's own scopes are looked at."""
    wanted = error.details.get("path")
    if not isinstance(wanted, str):
        return
    with suppress(MemexError):
        near = near_names(wanted, await _known_paths(database, access, wanted))
        error.details |= {"did_you_mean": near} if near else {}
        error.hint = did_you_mean(near) + error.hint


async def _known_paths(database: Database, access: Access, wanted: str) -> list[str]:
    """Return the paths of the files that stand now, those of the same mount first."""
    same_mount = wanted.partition("/")[0] + "/"
    async with database.transaction(access) as connection:
        memory = Memory(connection, access)
        listed = [await memory.list_files(prefix, limit=MAX_COMPARED) for prefix in (same_mount, "")]
    return list(dict.fromkeys(file.path for files in listed for file in files))
