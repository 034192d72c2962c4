"""The lines that were taken out of pages: a list, the one that a handle names, and its words in the journal."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Literal, get_args

from memex.store.access import Access, Scope
from memex.store.database import Connection, row_as, rows, rows_as
from memex.store.memory import Memory
from memex.store.paths import Prefix
from memex.store.records import EntryStatement, Reference, Span

RemovedState = Literal["replaced", "closed", "forgotten", "removed"]
REMOVED_STATES: tuple[RemovedState, ...] = get_args(RemovedState)

_NOT_BLANK = re.compile(r"[^\s]")
_HELD_IN = re.compile(r"(.*)@(\d+):(\d+)-(\d+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class RemovedLine:
    """A line that was taken out of a page.

    Attributes:
        handle: names the line.
        state: why it was taken out; `removed` by an edit of the page.
        path: of the page now; where it stood if it is deleted.
        page_stands: whether the page is not deleted.
        held_in: `path@version:start-end`, where the page held the statement last.
        text: the statement as it stood there; None if that version is erased.
        newer: the statement that took its place.
        tool_call_id: of the call that took it out.
        changed_at: when that was.
    """

    handle: str
    state: RemovedState
    path: str
    page_stands: bool
    held_in: str
    text: str | None
    newer: str | None
    tool_call_id: str
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class NamedLine:
    """The line that a handle names.

    Attributes:
        scope: of its page.
        line_key: tells it apart; see `statement_lines.line_key`.
        held_in: where the page held its statement last.
        state: what became of it.
        is_gone: whether it is taken out still.
        path: of its page, virtual; None if that is deleted.
    """

    scope: Scope
    line_key: bytes
    held_in: Reference
    state: str
    is_gone: bool
    path: str | None


async def list_removed(
    connection: Connection,
    access: Access,
    *,
    states: Sequence[RemovedState],
    prefix: Prefix,
    limit: int,
    before: tuple[datetime, str] | None = None,
) -> list[RemovedLine]:
    """Return the lines that were taken out and are not put back, newest first.

    Args:
        connection: in a transaction begun for `access`.
        access: the scopes whose pages are meant.
        states: why they were taken out.
        prefix: what the paths of their pages begin with.
        limit: how many at most.
        before: time and handle of the line after which the list goes on.
    """
    scopes = [scope for scope in access.scopes if _is_meant(scope, prefix)]
    at, handle = before or (None, None)
    begins = scopes[0].virtual(prefix.relative) if prefix.relative and scopes else ""
    return await rows_as(
        RemovedLine,
        connection,
        "memory/statement_removed",
        scope_ids=[scope.scope_id for scope in scopes],
        mounts=[scope.mount for scope in scopes],
        states=list(states),
        prefix=begins,
        before_at=at,
        before_handle=handle,
        limit=limit,
    )


async def find_removed(connection: Connection, access: Access, handle: str) -> NamedLine | None:
    """Return the line that a handle names, None if it names none that the caller may see."""
    return await row_as(
        partial(_named_line, access),
        connection,
        "memory/statement_by_handle",
        scope_ids=[scope.scope_id for scope in access.scopes],
        handle=handle,
    )


async def hidden_words(
    connection: Connection, access: Access, line: NamedLine
) -> dict[str, list[tuple[int, str]]]:
    """Return the words of the caller's journal that were hidden along with a line, with where they begin, by entry.

    Words from which other statements were made that are forgotten too are left blank.
    """
    memory, journal = Memory(connection, access), access.by_mount.get("user")
    if journal is None or not journal.writable:
        return {}
    sources = await memory.statement_sources([(line.held_in.path, line.line_key)])
    spans = [source for source in sources if source.state == "forgotten"]
    if not spans:
        return {}
    others = [
        statement
        for statement in await memory.entry_statements(list(dict.fromkeys(span.path for span in spans)))
        if statement.state == "forgotten" and statement.line_key != line.line_key
    ]
    found = await rows(
        connection,
        "memory/entry_words",
        scope_id=journal.scope_id,
        paths=[span.path.removeprefix(f"{journal.mount}/") for span in spans],
        starts=[span.start_char for span in spans],
        ends=[span.end_char for span in spans],
    )
    words: dict[str, list[tuple[int, str]]] = {}
    for row in found:
        path, start = journal.virtual(row["path"]), row["start_char"]
        words.setdefault(path, []).append((start, _without(row["words"], start, path, others)))
    return words


def _without(words: str, start: int, path: str, others: Sequence[EntryStatement]) -> str:
    """Return words with those parts blanked that other forgotten statements were made from."""
    for other in others:
        first, last = max(0, other.start_char - start), min(len(words), other.end_char - start)
        if other.path == path and first < last:
            words = words[:first] + _NOT_BLANK.sub(" ", words[first:last]) + words[last:]
    return words


def _is_meant(scope: Scope, prefix: Prefix) -> bool:
    if prefix.mount is None:
        return True
    if prefix.mount != "project":
        return scope.mount == prefix.mount
    return scope.is_project and prefix.project in (None, scope.mount.removeprefix("projects/"))


def _named_line(
    access: Access,
    *,
    scope_id: int,
    line_key: bytes,
    held_in: str,
    path: str | None,
    **columns: Any,
) -> NamedLine:
    scope = access.by_id[scope_id]
    held = _HELD_IN.fullmatch(held_in)
    if held is None:
        raise ValueError(f"{held_in!r} is no reference to a span")
    span: Span = (int(held[3]), int(held[4]))
    return NamedLine(
        scope=scope,
        line_key=bytes(line_key),
        held_in=Reference(held[1], int(held[2]), span),
        path=None if path is None else scope.virtual(path),
        **columns,
    )
