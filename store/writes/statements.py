"""The records that a commit makes of lines of pages: which were filed, which are gone, which are back."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, Literal

from memex.store.access import Access, Scope
from memex.store.database import Rows, Statement
from memex.store.entry_path import is_entry_at
from memex.store.paths import parse
from memex.store.records import FileChange, Reference, Span, TakenOut, TombstonePlace
from memex.store.statement_lines import changed_lines, line_key, standing_lines
from memex.store.writes.edits import Edit, Undo
from memex.store.writes.rivals import NO_RIVALS, RivalRecords
from memex.store.writes.tombstones import lifted, taken_out

EndState = Literal["replaced", "closed", "forgotten"]


@dataclass(frozen=True, slots=True)
class FiledLine:
    """A statement that a page holds, and where its words stand in the entry of the call.

    Attributes:
        path: of the page.
        text: the statement, as its line in the page says it.
        span: in the told text.
        state: `replaced` for a statement that was overtaken before the page held it.
        entry: virtual, of the entry that holds the words, if it is not that of the call.
    """

    path: str
    text: str
    span: Span
    state: Literal["in_force", "replaced"] = "in_force"
    entry: str | None = None


@dataclass(frozen=True, slots=True)
class EndedLine:
    """A statement that was taken out of a page, why, and the statement that took its place, if any."""

    path: str
    text: str
    state: EndState
    newer: str | None = None


@dataclass(frozen=True, slots=True)
class EndedWords:
    """Words that an entry of the journal alone keeps, and the statement that took their place; the entry stays.

    Attributes:
        reference: where the words stand in the entry.
        text: the words.
        state: why they do not hold any more.
        newer: the statement; None for words that are forgotten, or did not hold any more when they were told.
    """

    reference: Reference
    text: str
    state: EndState
    newer: str | None


@dataclass(frozen=True, slots=True)
class LineRecords:
    """The committing call's own records of lines; all other changed lines are found in the texts.

    Attributes:
        filed: the statements of the call that pages hold.
        ended: the statements that it took out of pages.
        said_on: the day on which its text was said.
        rivals: what the call says of statements that contradict each other.
        taken: the statements of which it leaves tombstones.
        lifted: tombstones that it lifts, by their mounts and keys, since what they are of is said anew.
    """

    filed: Sequence[FiledLine] = ()
    ended: Sequence[EndedLine] = ()
    said_on: date | None = None
    rivals: RivalRecords = NO_RIVALS
    taken: Sequence[TakenOut] = ()
    lifted: Sequence[TombstonePlace] = ()


NO_RECORDS = LineRecords()

LaterLines = Mapping[str, frozenset[bytes]]  # keys of lines, by the virtual path of their page
NO_LINES: LaterLines = {}


def later_statement(
    scope_ids: Sequence[int], day: date, accepted_at: datetime, *, paths: Sequence[str] | None = None
) -> Statement:
    """Return the statement that finds the lines of pages which were said later than a text.

    Args:
        scope_ids: of the pages.
        day: the day on which the text was said.
        accepted_at: when its call was accepted.
        paths: of the pages, within their scopes; None for all.
    """
    said = {"day": day, "accepted_at": accepted_at}
    return "writes/statement_later", {"scope_ids": scope_ids, "paths": paths, **said}


def later_lines(access: Access, found: Rows) -> LaterLines:
    """Return the lines that `later_statement` found."""
    lines: dict[str, set[bytes]] = {}
    for record in found:
        path = access.by_id[record["scope_id"]].virtual(record["path"])
        lines.setdefault(path, set()).add(bytes(record["line_key"]))
    return {path: frozenset(keys) for path, keys in lines.items()}


def statements_of(
    access: Access,
    changes: Iterable[FileChange],
    records: LineRecords,
    entry: tuple[Scope, str] | None,
    tool_call_id: str,
    accepted_at: datetime,
    *,
    locked: Sequence[int],
) -> list[Statement]:
    """Return the statements that record what became of lines, with tombstones; none if nothing did.

    Args:
        access: of the caller who commits.
        changes: of the commit.
        records: what the call says of lines.
        entry: the scope and the relative path of the entry that holds the words of filed lines, if one does.
        tool_call_id: of the call.
        accepted_at: when the call was accepted.
        locked: the ids of the scopes whose locks are held.
    """
    rows: list[dict[str, Any]] = []
    pages = [change for change in changes if change.changed and not is_entry_at(change.path)]
    ended = {
        (ended_line.path, line_key(ended_line.text)): _shareable(access, ended_line, pages)
        for ended_line in records.ended
    }
    for change in pages:
        rows += _rows_of(access, change, ended)
    holder = {"entry_scope": entry[0].scope_id, "entry_path": entry[1]} if entry else {"entry_path": ""}
    for filed in records.filed:
        span = {"start_char": filed.span[0], "end_char": filed.span[1]}
        line = {"key": line_key(filed.text).hex(), "change": "filed", "state": filed.state}
        held = _holder(access, filed.entry) if filed.entry else holder
        rows.append(_place(access, filed.path) | held | span | line)
    gone = taken_out(
        access, records.taken, locked, tool_call_id, said_on=records.said_on, accepted_at=accepted_at
    )
    back = lifted(access, records.lifted, locked, tool_call_id)
    written = {access.scope_of(parse(change.path)).scope_id for change in changes if change.changed}
    # Memory as it was knows neither the words that a line is recorded against now, nor what may come back now.
    known = {row["scope_id"] for row in rows if row["change"] == "filed"}
    known.update(access.scope_of(parse(taken.path)).scope_id for taken in records.taken)
    known.update(scope_id for _, given in back for scope_id in given["scope_ids"])
    advanced = sorted(known & set(locked) - written)
    said = {"said_on": records.said_on, "accepted_at": accepted_at}
    given = {"lines": json.dumps(rows), "tool_call_id": tool_call_id, **said}
    return [
        *([("writes/scope_advance", {"scope_ids": advanced})] if advanced else []),
        *([("writes/statement_change", given)] if rows else []),
        *gone,
        *back,
    ]


def undone_in_journal(name: str, access: Access, edits: Iterable[Edit], tool_call_id: str) -> list[Statement]:
    """Return the statements that undo what calls that a commit takes back changed in what is known of a journal.

    Args:
        name: of the statement; `writes/told_again_revert` counts what they told again no more, and
            `writes/statement_undo` lets the words hold again that they had taken the place of.
        access: of the caller who commits.
        edits: of the commit.
        tool_call_id: of the call that commits.
    """
    scope = access.by_mount.get("user")
    if scope is None:
        return []
    given = {"scope_id": scope.scope_id, "tool_call_id": tool_call_id}
    undone = [call for edit in edits if isinstance(edit, Undo) for call in edit.calls]
    return [(name, given | {"reverted": call}) for call in undone]


def overtaken_words(access: Access, words: Iterable[EndedWords], tool_call_id: str) -> list[Statement]:
    """Return the statement that records which words of the journal a call took the place of; none for no words."""
    rows = [
        _place(access, ended.reference.path)
        | {"key": line_key(ended.text).hex(), "state": ended.state, "newer": ended.newer}
        | {
            "held_in": str(ended.reference),
            "start_char": ended.reference.span[0],
            "end_char": ended.reference.span[1],
        }
        for ended in words
    ]
    return (
        [("writes/statement_overtake", {"words": json.dumps(rows), "tool_call_id": tool_call_id})]
        if rows
        else []
    )


def _rows_of(
    access: Access, change: FileChange, ended: Mapping[tuple[str, bytes], EndedLine]
) -> list[dict[str, Any]]:
    gone, come = changed_lines(change.old_content, change.new_content)
    place, rows = _place(access, change.path) | {"is_undone": change.operation == "revert"}, []
    for key, (start, end) in gone.items():
        why = ended.get((change.path, key))
        said = {"state": why.state, "newer": why.newer} if why else {"state": "removed", "newer": None}
        held = {"held_in": f"{change.old_reference}:{start}-{end}"}
        rows.append(place | said | held | {"key": key.hex(), "change": "ended"})
    rows += [place | {"key": key.hex(), "change": "back"} for key in come]
    return rows


def _shareable(access: Access, ended: EndedLine, pages: Sequence[FileChange]) -> EndedLine:
    """Return what is kept of a line: others read no newer statement that only the teller's own pages hold."""
    scope = access.scope_of(parse(ended.path))
    if ended.newer is None or scope.mount == "user":
        return ended
    beside = [page for page in pages if access.scope_of(parse(page.path)) == scope]
    key = line_key(ended.newer)
    is_shared = any(key in standing_lines(page.new_content) for page in beside)
    return ended if is_shared else replace(ended, newer=None)


def _holder(access: Access, entry: str) -> dict[str, Any]:
    place = _place(access, entry)
    return {"entry_scope": place["scope_id"], "entry_path": place["path"]}


def _place(access: Access, path: str) -> dict[str, Any]:
    parsed = parse(path)
    return {"scope_id": access.scope_of(parsed).scope_id, "path": parsed.relative}
