"""The plan of a commit: the edits applied to the loaded files, and what is derived of the files that they change.

A short plan is made here and now (`plan_now`), also while the locks are held. The texts of a long one are read in
processes (`plan`), for which nobody waits under a lock.
"""

import asyncio
from collections.abc import Sequence

from memex.store import markdown
from memex.store.search.index import FileIndex
from memex.store.text_pool import offload
from memex.store.text_pool.portions import portions
from memex.store.writes.derivation import FileToIndex, apply_and_compare, apply_edits, derive_files
from memex.store.writes.edits import Edit, Patch, PlannedRevision, Revise, Undo, Write
from memex.store.writes.loaded import CommitPlan, LoadedFiles, StoredHead, count_chars, working_tree

SHORT_CHARS = 16 * 1024  # of all texts that are read or written: some 10 ms of work while the locks are held
PLAIN_SHARE = 3  # a stored text of plain Markdown counts as so many times shorter, for it is that cheap
MARKED_SHARE = 2  # and any other text as so many times longer
PORTION_CHARS = 128 * 1024  # of short files that a process reads at once; a longer file is read by itself


def plan_now(stored: LoadedFiles, edits: Sequence[Edit], *, are_members: bool) -> CommitPlan:
    """Return the plan of a commit, made here and now."""
    planned = apply_edits(working_tree(stored.heads), edits, are_members=are_members)
    derived = derive_files(_files_to_index(planned, stored, are_members))
    return CommitPlan(stored.fingerprint, tuple(zip(planned, derived, strict=True)))


async def plan(stored: LoadedFiles, edits: Sequence[Edit], *, are_members: bool) -> CommitPlan:
    """Return the plan of a commit; long texts are read in a process."""
    planned = await apply(stored.heads, edits, are_members=are_members)
    files = _files_to_index(planned, stored, are_members)
    derived: dict[int, FileIndex] = {}  # by place: two files of a plan may have had the same path
    for place, file in enumerate(files):
        if offload.is_quick(file.content or ""):
            [derived[place]] = derive_files([file])
            await asyncio.sleep(0)  # others may go on between two files
    places = [place for place in range(len(files)) if place not in derived]
    left = iter(places)
    for part in portions([files[place] for place in places], _chars_to_index, PORTION_CHARS):
        for made in await offload.run_apart(sum(map(_chars_to_index, part)), derive_files, part):
            derived[next(left)] = made
    return CommitPlan(
        stored.fingerprint, tuple((revision, derived[place]) for place, revision in enumerate(planned))
    )


async def apply(
    heads: Sequence[StoredHead], edits: Sequence[Edit], *, are_members: bool
) -> list[PlannedRevision]:
    """Return what edits make of files; if an edit looks into long texts, it does so in a process.

    The answer of such an edit shows the difference that it makes, so that this is made there too.
    """
    looks = any(not isinstance(edit, Write) or edit.operation == "restore" for edit in edits)
    chars = count_written_chars(edits) + count_chars(heads) if looks else 0
    work = apply_edits if offload.is_short(chars) else apply_and_compare
    return await offload.run(chars, work, working_tree(heads), list(edits), are_members)


def is_short(stored: LoadedFiles, edits: Sequence[Edit]) -> bool:
    """Return whether edits of files may be planned while locks are held, and on the event loop."""
    texts = [_written_text(edit) for edit in edits] + [head.content or "" for head in stored.heads]
    if not all(map(offload.is_quick, texts)):
        return False
    written = sum(map(_written_weight, edits))
    return written + sum(_stored_weight(head.content or "") for head in stored.heads) <= SHORT_CHARS


def count_written_chars(edits: Sequence[Edit]) -> int:
    """Return how many characters edits bring along."""
    return sum(map(_written_chars, edits))


def _written_text(edit: Edit) -> str:
    match edit:
        case Write():
            return edit.content
        case Patch():
            return edit.text
        case _:
            return ""


def _written_chars(edit: Edit) -> int:
    match edit:
        case Write():
            return len(edit.content)
        case Patch():
            return len(edit.text)
        case Revise():
            return edit.chars
        case Undo():
            return sum(
                len(after.content) + len(before.content if before else "")
                for one in edit.revisions
                for after, before in ((one.after, one.before), *one.earlier)
            )
        case _:
            return 0


def _written_weight(edit: Edit) -> int:
    chars, text = _written_chars(edit), edit.content if isinstance(edit, Write) else ""
    return MARKED_SHARE * chars if len(text) <= SHORT_CHARS and not markdown.is_plain(text) else chars


def _stored_weight(content: str) -> int:
    is_plain = len(content) <= PLAIN_SHARE * SHORT_CHARS and markdown.is_plain(content)
    return len(content) // PLAIN_SHARE if is_plain else MARKED_SHARE * len(content)


def _files_to_index(
    planned: Sequence[PlannedRevision], stored: LoadedFiles, are_members: bool
) -> list[FileToIndex]:
    languages = {scope.scope_id: scope.language for scope in stored.scopes}
    files = []
    for revision in planned:
        file, scope_id = revision.file, revision.file.scope.scope_id
        known = stored.chunks.get((scope_id, file.head.file_id), []) if file.head else []
        member = file.edits[-1] if are_members else None
        name = file.scope.virtual(file.path)
        files.append(FileToIndex(name, file.path, file.content, known, languages[scope_id], member))
    return files


def _chars_to_index(file: FileToIndex) -> int:
    return len(file.content or "")
