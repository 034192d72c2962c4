"""Reading the files that calls of the log speak of, as they stand now."""

from collections import defaultdict
from dataclasses import dataclass, replace

from memex.errors import FileNotFound, LimitExceeded, ProjectNotFound
from memex.service.call import Caller
from memex.service.review.places import FoundInFile, Wanted, look_into
from memex.service.service import Service
from memex.store.entry_path import is_entry_at
from memex.store.log.review import ReviewedCall
from memex.store.memory import Memory
from memex.store.records import Revision
from memex.store.text_pool import offload
from memex.subagent.statements.places import is_statement_file

MAX_FILES, PAGE = 1_000, 20  # files that are read, and in one transaction
MAX_CHARS = 20_000_000  # of all files that are read


@dataclass(frozen=True, slots=True)
class FileAsItStands:
    """The version of a file, and what a review looks for in it."""

    version: int
    standing: FoundInFile


FilesAsTheyStand = dict[str, FileAsItStands | None]  # None for a file that is gone


def what_to_read(calls: list[ReviewedCall]) -> dict[str, Wanted]:
    """Return what is looked for in which file, by its path."""
    handles, texts = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    flagged: dict[str, None] = {}
    for call in calls:
        rivals = call.result.get("rivals", ())
        for listed in (*rivals, *call.result.get("candidates", ())):
            handles[listed["path"]].add(listed.get("handle", ""))  # old versions named none
        for path in call.written_paths:
            texts[path].update(rival["newer"] for rival in rivals)
        flagged |= dict.fromkeys(call.written_paths if call.has_flagged_secret else ())
    paths = dict.fromkeys([*handles, *(path for path, said in texts.items() if said), *flagged])
    return {path: Wanted(frozenset(handles[path]), frozenset(texts[path]), path in flagged) for path in paths}


async def read_files(
    service: Service, caller: Caller, wanted: dict[str, Wanted]
) -> dict[str, FileAsItStands | None]:
    """Return what stands in files, None for one that is gone; those beyond the limits are left out."""
    files: dict[str, FileAsItStands | None] = {}
    paths, chars = list(wanted)[:MAX_FILES], 0
    for start in range(0, len(paths), PAGE):
        if chars > MAX_CHARS:
            break
        page = paths[start : start + PAGE]
        async with service.database.transaction(caller.access) as connection:
            read = await _read_page(Memory(connection, caller.access), page)
        for path, revision in read.items():
            files[path] = await _look_into(path, revision, wanted[path]) if revision else None
            chars += revision.size_chars if revision else 0
    return files


async def _read_page(memory: Memory, paths: list[str]) -> dict[str, Revision | None]:
    read: dict[str, Revision | None] = {}
    for path in paths:
        try:
            read[path] = await memory.read(path)
        except (FileNotFound, ProjectNotFound):
            read[path] = None
    return read


async def _look_into(path: str, revision: Revision, wanted: Wanted) -> FileAsItStands | None:
    if not (is_statement_file(path) or is_entry_at(path)):
        wanted = replace(wanted, handles=frozenset())
    try:
        standing = await offload.run_on(revision.content, look_into, path, revision.content, wanted)
    except LimitExceeded:  # a text that takes too long to read hides no other file
        return None
    return FileAsItStands(revision.version, standing)
