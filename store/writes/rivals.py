"""Records of newer statements that contradict older ones; a commit makes them, and contexts read them."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from memex.store.access import Access, Scope
from memex.store.database import Statement
from memex.store.paths import parse
from memex.store.records import Span
from memex.store.statement_lines import line_key
from memex.store.writes.edits import Edit, Undo

LINE: Span = (0, 0)  # of a line of a page, which its words tell


@dataclass(frozen=True, slots=True)
class StatementPlace:
    """The place of a statement: a line of a page, or words of an entry of the journal.

    Attributes:
        path: virtual; None for the entry that holds the text of the call.
        text: the statement, as it stands there.
        span: where words stand in an entry; `LINE` for a line of a page.
    """

    path: str | None
    text: str
    span: Span = LINE


@dataclass(frozen=True, slots=True)
class ContradictingPair:
    """An older statement and a newer one."""

    older: StatementPlace
    newer: StatementPlace


@dataclass(frozen=True, slots=True)
class RivalRecords:
    """The records of a call about statements that contradict each other.

    Attributes:
        named: the pairs of which both stay.
        taken: statements that went, and those that took their places.
        held: older statements that hold beside the newer ones.
    """

    named: Sequence[ContradictingPair] = ()
    taken: Sequence[ContradictingPair] = ()
    held: Sequence[StatementPlace] = ()


NO_RIVALS = RivalRecords()


def rivals_of(
    access: Access,
    records: RivalRecords,
    entry: tuple[Scope, str] | None,
    scope_ids: Sequence[int],
    tool_call_id: str,
) -> list[Statement]:
    """Return the statements that record what a call says of statements that contradict each other.

    Args:
        access: of the caller who commits.
        records: what the call says.
        entry: the scope and the relative path of the entry that holds the text of the call, if one does.
        scope_ids: of the scopes whose locks are held; nothing is recorded in others.
        tool_call_id: of the call.
    """
    statements: list[Statement] = []
    for name, pairs in (("writes/rival_carry", records.taken), ("writes/rival_add", records.named)):
        rows = [row for row in _rows(access, pairs, entry) if row["scope_id"] in scope_ids]
        if rows:
            statements.append((name, {"pairs": json.dumps(rows), "tool_call_id": tool_call_id}))
    if places := [_columns(access, "older", place, entry) for place in records.held]:
        given = {"places": json.dumps(places), "scope_ids": list(scope_ids)}
        statements.append(("writes/rival_settle", given | {"tool_call_id": tool_call_id}))
    return statements


def reverted_rivals(
    access: Access, edits: Iterable[Edit], scope_ids: Iterable[int], tool_call_id: str
) -> list[Statement]:
    """Return the statements that take back what undone calls said of pairs, and what else they left beside files.

    Args:
        access: of the caller who commits.
        edits: of the commit.
        scope_ids: of the scopes whose locks are held.
        tool_call_id: of the call that commits.
    """
    own = access.by_mount.get("user")
    scopes = {*scope_ids, *([own.scope_id] if own else [])}
    given = {"scope_ids": sorted(scopes), "tool_call_id": tool_call_id}
    undone = [call for edit in edits if isinstance(edit, Undo) for call in edit.calls]
    statements = ("writes/rival_undo", "writes/tombstone_undo", "dreams/edit_reverted")
    return [(name, given | {"reverted": call}) for call in undone for name in statements]


def _rows(
    access: Access, pairs: Iterable[ContradictingPair], entry: tuple[Scope, str] | None
) -> Iterator[dict[str, Any]]:
    for pair in pairs:
        older, newer = (
            _columns(access, "older", pair.older, entry),
            _columns(access, "newer", pair.newer, entry),
        )
        if older is None or newer is None or older["older_key"] == newer["newer_key"]:
            continue
        owner = access.by_mount.get("user")
        is_shared = older["older_scope"] == newer["newer_scope"]
        scope_id = older["older_scope"] if is_shared else owner.scope_id if owner else None
        yield {"scope_id": scope_id, **older, **newer}


def _columns(
    access: Access, side: str, place: StatementPlace, entry: tuple[Scope, str] | None
) -> dict[str, Any] | None:
    """Return the columns of one side of a pair; None where no entry holds the words."""
    if place.path is not None:
        parsed = parse(place.path)
        scope, path = access.scope_of(parsed), parsed.relative
    elif entry is not None:
        scope, path = entry
    else:
        return None
    start, end = place.span
    return {
        f"{side}_scope": scope.scope_id,
        f"{side}_path": path,
        f"{side}_key": line_key(place.text).hex(),
        f"{side}_start": start,
        f"{side}_end": end,
    }
