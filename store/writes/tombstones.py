"""Tombstones: what was forgotten or replaced, known by salted digests, so that older texts do not bring it back.

A tombstone keeps no words. Of the statement that was taken out it has the digests of its values, such as names and
numbers, and of its other words, which tell the property. The subagent makes both, and tells whether a text says it
again (`statements.comparison.remains`).
"""

import json
import secrets
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, time
from typing import Any

from memex.store.access import Access
from memex.store.database import Statement
from memex.store.paths import parse
from memex.store.records import TakenOut, TombstonePlace
from memex.store.statement_lines import line_key

SALT_BYTES = 16


def taken_out(
    access: Access,
    taken: Iterable[TakenOut],
    scope_ids: Sequence[int],
    tool_call_id: str,
    *,
    said_on: date | None,
    accepted_at: datetime,
) -> list[Statement]:
    """Return the statement that leaves tombstones; none for nothing.

    Args:
        access: of the caller who commits.
        taken: what the call takes out.
        scope_ids: of the scopes whose locks are held; nothing is recorded in others.
        tool_call_id: of the call.
        said_on: the day on which its text was said, if it says one.
        accepted_at: when the call was accepted.
    """
    rows: dict[tuple[int, str], dict[str, Any]] = {}
    for out in taken:
        scope_id, remains = access.scope_of(parse(out.path)).scope_id, out.remains
        if scope_id in scope_ids and (remains.values or remains.words):
            place = scope_id, line_key(out.text).hex()
            said = {"said": list(remains.values), "words": list(remains.words)}
            rows[place] = {"scope_id": scope_id, "key": place[1], "strength": out.strength} | said
    if not rows:
        return []
    is_old = said_on is not None and said_on < accepted_at.astimezone(UTC).date()
    ended_at = datetime.combine(said_on, time(), UTC) if said_on and is_old else accepted_at
    given = {"taken": json.dumps(list(rows.values())), "salt": secrets.token_bytes(SALT_BYTES)}
    return [("writes/tombstone_add", given | {"ended_at": ended_at, "tool_call_id": tool_call_id})]


def lifted(
    access: Access, places: Iterable[TombstonePlace], scope_ids: Sequence[int], tool_call_id: str
) -> list[Statement]:
    """Return the statement that lifts tombstones, by the mount and the key of each; none for none.

    Only scopes whose locks are held, `scope_ids`, lose any: a private text lifts none of a project.
    """
    scopes = {
        mount: scope.scope_id for mount, scope in access.by_mount.items() if scope.scope_id in scope_ids
    }
    found = [(scopes[mount], key) for mount, key in places if mount in scopes]
    if not found:
        return []
    scope_ids, keys = zip(*found, strict=True)
    given = {"scope_ids": list(scope_ids), "line_keys": list(keys), "tool_call_id": tool_call_id}
    return [("writes/tombstone_lift", given)]
