"""Settling: a caller who knows the conversation says by handle which statements hold still, and which do not.

An answer of `memory_remember` gives a handle with each stored statement that may be out of date. It is made of the
file's name and a digest of the virtual path and the text, so a call that is run again gives the same one, and it
is valid as long as that text stands in that file. It names no user: in another memory it means nothing, or a
statement with the same words.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from memex.store.entry_path import is_entry_at
from memex.store.text_pool import offload
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import FiledStatement, Removal
from memex.subagent.remember.filing.handles import text_of
from memex.subagent.remember.told_sentences import sentence_of
from memex.subagent.statements.places import is_statement_file

MAX_HANDLES = 10  # that one call may settle

UnresolvedReason = Literal["unknown", "limit", "conflict"]

_HANDLE = re.compile(r"(?P<name>[^\s\x00]{1,200})-[a-z2-7]{8}")
# Small models write `handle_notes-…` for what an answer calls `notes-…`.
_WRITTEN_BEFORE = re.compile(r"(?:handle|[\s_:`'\"-])*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class UnresolvedHandle:
    """A handle that settled nothing: an `unknown` one names no statement that the call may change."""

    handle: str
    reason: UnresolvedReason


@dataclass(frozen=True, slots=True)
class Settlement:
    """The statements that handles take out or confirm, each with its handle, and the handles that name none.

    `forgotten` are the sentences of the journal that they take out, and `held` those that they confirm.
    """

    removals: tuple[tuple[str, Removal], ...] = ()
    confirmed: tuple[tuple[str, Removal], ...] = ()
    forgotten: tuple[FiledStatement, ...] = ()
    held: tuple[FiledStatement, ...] = ()
    unresolved: tuple[UnresolvedHandle, ...] = ()


async def settle(
    outdated: Sequence[str], both_hold: Sequence[str], project: str | None, tools: MemoryTools
) -> Settlement:
    """Return what handles change in the files that the call may write and that `memory_remember` writes.

    Args:
        outdated: the handles of statements that no longer hold, as an earlier answer gave them.
        both_hold: those of statements that hold still; of all handles, those behind the first `MAX_HANDLES` are
            left alone.
        project: the project of the call: beside the user's own files, its files may be written.
        tools: reads memory.
    """
    wanted = list(dict.fromkeys((*outdated, *both_hold)))
    mounts = ["user"] if project is None else ["user", f"projects/{project}"]
    removals: list[tuple[str, Removal]] = []
    confirmed: list[tuple[str, Removal]] = []
    forgotten: list[FiledStatement] = []
    held: list[FiledStatement] = []
    unresolved = []
    contents: dict[str, str] = {}
    for handle in wanted[:MAX_HANDLES]:
        if handle in outdated and handle in both_hold:
            unresolved.append(UnresolvedHandle(handle, "conflict"))
            continue
        found = await _find_statement(handle, mounts, contents, tools)
        told = await _find_sentence(handle, tools) if found is None else None
        if told is not None:
            (forgotten if handle in outdated else held).append(told)
        elif found is None:
            unresolved.append(UnresolvedHandle(handle, "unknown"))
        else:
            (removals if handle in outdated else confirmed).append((handle, found))
    unresolved += [UnresolvedHandle(handle, "limit") for handle in wanted[MAX_HANDLES:]]
    return Settlement(tuple(removals), tuple(confirmed), tuple(forgotten), tuple(held), tuple(unresolved))


async def _find_statement(
    handle: str, mounts: Sequence[str], contents: dict[str, str], tools: MemoryTools
) -> Removal | None:
    """Return the statement that a handle names, as one to take out. Files that were read are kept in `contents`."""
    handle, named = _parse(handle)
    for mount in mounts if named else ():
        path = f"{mount}/{named['name']}.md"  # type: ignore[index]  # it matched
        if not is_statement_file(path):
            continue
        if path not in contents:
            contents[path] = await _read(path, tools)
        text = await offload.run(len(contents[path]), text_of, handle, path, contents[path])
        if text is not None:
            return Removal(path, None, text)
    return None


async def _find_sentence(handle: str, tools: MemoryTools) -> FiledStatement | None:
    """Return the sentence of the caller's journal that a handle names."""
    handle, named = _parse(handle)
    path = f"user/{named['name']}.md" if named else ""
    if not is_entry_at(path) or not any(
        summary.path == path for summary in await tools.list_files(path, limit=1)
    ):
        return None
    entry = await tools.read_file(path)
    return await sentence_of(handle, path, entry.content, entry.version)


def _parse(handle: str) -> tuple[str, re.Match[str] | None]:
    """Return a handle as answers write it, and its parts; None if it is none."""
    handle = _WRITTEN_BEFORE.sub("", handle, count=1).rstrip(" `'\".,")
    return handle, _HANDLE.fullmatch(handle)


async def _read(path: str, tools: MemoryTools) -> str:
    """Return a file's text; "" if there is no such file."""
    listed = await tools.list_files(path, limit=1)
    return (await tools.read_file(path)).content if any(summary.path == path for summary in listed) else ""
