"""Carrying out decisions about groups of edits: each is one commit, with an id of its own to revert it by."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from memex.errors import Conflict, NotFound, ValidationFailed
from memex.service.call import Caller
from memex.service.dreams.results import DecidedGroup
from memex.service.log import references
from memex.service.service import Service
from memex.store.access import Access, Scope
from memex.store.database import Statement
from memex.store.dreams import proposals
from memex.store.dreams.proposals import EditState, StoredProposal
from memex.store.log.call import CallAnswer
from memex.store.paths import parse
from memex.store.records import FileChange, TakenOut
from memex.store.search.analyzer import analyzer_of
from memex.store.statement_lines import changed_lines, line_key
from memex.store.writes.statements import EndedLine, LineRecords
from memex.subagent.dream.edits import FileEdit, edit_of
from memex.subagent.statements.bullets import ITEM, parse_bullet
from memex.subagent.statements.comparison.remains import remains_of

APPLY = "dream_apply"  # the name in the log of the call that applies one group


def call_id_of(proposal_id: str, part: int) -> str:
    """Return the id of the call that applies a group: always the same, so that it is applied once."""
    return f"{proposal_id}.{part}"


def chosen_parts(stored: StoredProposal, groups: Sequence[int] | None, states: tuple[str, ...]) -> list[int]:
    """Return the groups of a proposal that a decision is about; by default all in one of some states.

    Raises:
        ValidationFailed: there is no such group.
    """
    parts = stored.parts()
    if unknown := sorted(set(groups or ()) - parts.keys()):
        raise ValidationFailed(
            f"The proposal has no group {unknown[0]}.", hint=f"It has the groups 1 to {len(parts)}."
        )
    wanted = parts.keys() if groups is None else dict.fromkeys(groups)
    return [part for part in wanted if groups is not None or parts[part][0]["state"] in states]


async def apply(
    service: Service,
    caller: Caller,
    stored: StoredProposal,
    parts: Sequence[int],
    now: datetime,
) -> list[DecidedGroup]:
    """Apply groups one after the other; what does not fit any more is left out, and said to be outdated.

    What did not pass the questions is applied by nobody.
    """
    done = []
    for part in parts:
        rows = stored.parts()[part]
        state = rows[0]["state"]
        if state == "open" and not stored.is_expired:
            done.append(await _apply(service, caller, stored, part, rows, now))
        else:
            why = "expired" if stored.is_expired and state in ("open", "held") else state
            detail = "It did not pass the questions." if why == "held" else f"It is {why}."
            done.append(
                DecidedGroup(group=part, state=state, tool_call_id=rows[0]["tool_call_id"], detail=detail)
            )
    return done


async def reject(
    service: Service, caller: Caller, stored: StoredProposal, parts: Sequence[int], now: datetime
) -> list[DecidedGroup]:
    """Reject groups: the same change of the same lines is not proposed again."""
    settled = await _settle(service, caller, stored, parts, "rejected", now)
    return [
        DecidedGroup(group=part, state="rejected", tool_call_id=None)
        if part in settled
        else await _as_it_is(service, caller, stored, part, now)
        for part in parts
    ]


async def _settle(
    service: Service,
    caller: Caller,
    stored: StoredProposal,
    parts: Sequence[int],
    state: EditState,
    now: datetime,
) -> set[int]:
    """Say what became of groups; return those about which no other decision came first."""
    statement = proposals.settle_statement(stored.scope_id, stored.proposal_id, parts, state, now)
    async with service.database.transaction(caller.access) as connection:
        return await proposals.settle(connection, statement)


async def _as_it_is(
    service: Service, caller: Caller, stored: StoredProposal, part: int, now: datetime
) -> DecidedGroup:
    """Return the outcome for a group about which another decision came first."""
    async with service.database.transaction(caller.access) as connection:
        found = await proposals.read(connection, caller.access, proposal_id=stored.proposal_id, now=now)
    row = next((proposal.parts()[part][0] for proposal in found), stored.parts()[part][0])
    detail = f"It is {row['state']}."
    return DecidedGroup(group=part, state=row["state"], tool_call_id=row["tool_call_id"], detail=detail)


async def revert(
    service: Service, caller: Caller, stored: StoredProposal, parts: Sequence[int]
) -> list[DecidedGroup]:
    """Take back groups that were applied, the last one first; raises VersionConflict where one does not fit."""
    done = []
    for part in reversed(parts):
        first = stored.parts()[part][0]
        if first["state"] != "applied":
            done.append(
                DecidedGroup(group=part, state=first["state"], tool_call_id=None, detail="It is not applied.")
            )
            continue
        undone = await service.revert(caller, call_id_of(stored.proposal_id, part))
        done.append(DecidedGroup(group=part, state="reverted", tool_call_id=undone["tool_call_id"]))
    return done[::-1]


async def _apply(
    service: Service,
    caller: Caller,
    stored: StoredProposal,
    part: int,
    rows: Sequence[dict[str, Any]],
    now: datetime,
) -> DecidedGroup:
    group = [edit_of(row) for row in rows]
    scope = caller.access.by_id[stored.scope_id]
    try:
        await commit_group(service, caller, stored.proposal_id, part, group, scope, now)
    except (Conflict, NotFound) as error:
        if not await _settle(service, caller, stored, [part], "outdated", now):
            return await _as_it_is(service, caller, stored, part, now)
        return DecidedGroup(group=part, state="outdated", tool_call_id=None, detail=error.message)
    return DecidedGroup(group=part, state="applied", tool_call_id=call_id_of(stored.proposal_id, part))


async def commit_group(
    service: Service,
    caller: Caller,
    proposal_id: str,
    part: int,
    group: Sequence[FileEdit],
    scope: Scope,
    now: datetime,
    *,
    is_kept: bool = True,
) -> None:
    """Write the edits of one group in one commit, which also says of a proposal that is kept that it is applied.

    Raises:
        Conflict, NotFound: a file was written since, and the edits do not fit any more, or another decision came
            first; nothing was written.
        ReadOnlyMount: the caller may not write there.
    """
    dreamer = Caller(caller.principal, replace(caller.access, channel="dream"))
    tool_call_id = call_id_of(proposal_id, part)
    given = {"proposal_id": proposal_id, "group": part}

    def beside(changes: tuple[FileChange, ...]) -> list[Statement]:
        follow = list(_follow(group, changes))
        lines = {"lines": json.dumps(follow), "scope_id": scope.scope_id, "tool_call_id": tool_call_id}
        return [
            *([("dreams/statement_follow", lines)] if follow else []),
            *_filed(caller.access, scope, group, tool_call_id, now),
        ]

    async with service.recorder.recorded(dreamer, APPLY, given, tool_call_id=tool_call_id) as log:
        draft = service.draft(dreamer)
        for edit in group:
            if edit.is_whole:
                text = edit.changes[0].new or ""
                draft.write(edit.path, text, base_version=edit.base_version, reason=edit.why[:500])
            else:
                chars = sum(len(change.new or "") + 100 for change in edit.changes)
                draft.revise(edit.path, edit, chars=chars, reason=edit.why[:500])
        if is_kept:
            draft.claim = proposals.settle_statement(
                scope.scope_id, proposal_id, [part], "applied", now, tool_call_id
            )
        commit = await draft.commit(
            log.call, partial(_answer, given), beside, lambda _: _records(scope, group)
        )
        if commit.is_repeat:
            await log.add("repeated")


def _answer(given: dict[str, Any], changes: tuple[FileChange, ...]) -> CallAnswer:
    changed = [change for change in changes if change.changed]
    writes = [{"path": change.path, "version": change.version, "diff": change.diff()} for change in changed]
    logged = [
        write | {"diff": references.of_diff(change)} for write, change in zip(writes, changed, strict=True)
    ]
    return CallAnswer(given | {"writes": writes}, given, given | {"writes": logged})


def _records(scope: Scope, edits: Sequence[FileEdit]) -> LineRecords:
    """Return what becomes of lines whose place a newer statement takes: they are replaced, with a tombstone."""
    analyzer = analyzer_of(scope.language)
    ended, taken = [], []
    for edit in edits:
        for change in edit.changes if edit.kind == "superseded" else ():
            if change.does == "line" and change.new is None:
                text = parse_bullet(change.old)
                newer = next(
                    (
                        parse_bullet(needed.old)
                        for other in edits
                        for needed in other.changes
                        if needed.does == "need"
                    ),
                    None,
                )
                ended.append(EndedLine(edit.path, text, "replaced", newer))
                taken.append(TakenOut(edit.path, text, "replaced", remains_of(text, analyzer)))
    return LineRecords(ended=ended, taken=taken)


def _follow(edits: Sequence[FileEdit], changes: Sequence[FileChange]) -> Iterator[dict[str, Any]]:
    """Yield which line says now what a line said that went: its twin, or the same line in another page."""
    come: dict[bytes, str] = {}
    gone: list[tuple[str, bytes]] = []
    for change in changes:
        went, came = changed_lines(change.old_content, change.new_content)
        come |= dict.fromkeys(came, change.path)
        gone += [(change.path, key) for key in went]
    twins = [
        (edit.path, line_key(_said(change.old if change.new is None else change.new)))
        for edit in edits
        for change in edit.changes
        if edit.kind in ("duplicate", "merge")
        and (change.does == "need" or (change.does == "line" and change.new))
    ]
    for path, key in gone:
        place, kept = (come[key], key) if key in come else twins[0] if twins else (None, key)
        if place is not None:
            yield {
                "key": key.hex(),
                "path": parse(path).relative,
                "kept_key": kept.hex(),
                "kept_path": parse(place).relative,
            }


def _said(raw: str) -> str:
    marker = ITEM.match(raw)
    return raw[marker.end() :] if marker else raw


def _filed(
    access: Access, scope: Scope, edits: Sequence[FileEdit], tool_call_id: str, now: datetime
) -> Iterator[Statement]:
    """Yield the statements that record from which words of the journal new lines were made."""
    for edit in edits:
        for change in edit.changes if edit.kind == "journal" else ():
            path, _, rest = change.source.rpartition("@")
            start, _, end = rest.partition(":")[2].partition("-")
            row = {
                "scope_id": scope.scope_id,
                "path": parse(edit.path).relative,
                "key": line_key(change.new or "").hex(),
                "change": "filed",
                "state": "in_force",
                "entry_scope": access.scope_at("user").scope_id,
                "entry_path": parse(path).relative,
                "start_char": int(start),
                "end_char": int(end),
            }
            said = {"said_on": change.day, "accepted_at": now}
            yield (
                "writes/statement_change",
                {"lines": json.dumps([row]), "tool_call_id": tool_call_id, **said},
            )
