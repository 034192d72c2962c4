"""What waits for a person: told from the log, the files as they stand, and the queue. No row of its own.

An item is there as long as its reason is: the statement stands, the secret stands, the call is given up. What a
person decided to leave stands in the statement's stamp (`still true`), or else in the log as `review_decide`, which
is newer than the call that left the item and so is kept at least as long.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memex.errors import FileNotFound, MemexError, ProjectNotFound
from memex.service.call import Caller
from memex.service.review.items import Decision, ItemKind, ReviewItem, ReviewResult
from memex.service.review.places import StandingSecret, StandingStatement, secrets_of, statements_of
from memex.service.service import Service
from memex.service.tools.tool import from_cursor, to_cursor
from memex.store.database import Connection
from memex.store.log import queue
from memex.store.log.call import CallAnswer
from memex.store.log.queue import QueueEntry
from memex.store.log.review import DECIDE, MAX_CALLS, ReviewedCall, list_reviewed_calls
from memex.store.memory import Memory
from memex.store.records import Revision
from memex.store.text_pool import offload
from memex.subagent.remember.note import holds
from memex.subagent.statements.places import is_statement_file

LIST = "review_list"
STATEMENT = "statement:"  # how the id of an item about a statement begins
MAX_QUEUED = 1_000  # calls of the queue that are looked at, the oldest
KINDS: tuple[ItemKind, ...] = ("rival", "forget", "secret", "queue")


@dataclass(frozen=True, slots=True)
class _File:
    """A file as it stands, with what a review looks for in it."""

    revision: Revision
    statements: dict[str, StandingStatement] = field(default_factory=dict)
    secrets: list[StandingSecret] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class WaitingItems:
    """Everything that waits for a person in what a caller sees, the newest first."""

    items: list[ReviewItem]
    is_complete: bool


async def list_review(
    service: Service,
    caller: Caller,
    *,
    kind: ItemKind | None = None,
    limit: int = 50,
    cursor: str | None = None,
    tool_call_id: str | None = None,
) -> ReviewResult:
    """Return what waits for a person in the memory of the caller's user, and log what was shown.

    Args:
        service: the service that reads the files and the log.
        caller: who asks; of an admin who names no user, the queue of the tenant and what admins left.
        kind: items of this kind only.
        limit: the largest number of items.
        cursor: `next_cursor` of the page before.
        tool_call_id: the caller's.
    """
    given = {name: value for name, value in {"kind": kind, "limit": limit}.items() if value is not None}
    async with service.recorder.recorded(caller, LIST, given, tool_call_id=tool_call_id) as log:
        after = from_cursor(cursor, str, str) if cursor is not None else None
        found = await read_waiting(service, caller)
        chosen = [one for one in found.items if kind in (None, one.kind)]
        if after is not None:
            chosen = [one for one in chosen if [one.since, one.id] < after]
        page = chosen[:limit]
        result = ReviewResult(
            items=page,
            counts={one: sum(item.kind == one for item in found.items) for one in KINDS},
            next_cursor=to_cursor(page[-1].since, page[-1].id) if len(chosen) > limit else None,
            is_complete=found.is_complete,
        )
        await log.add("answered", CallAnswer(result.body(), given, _logged(page)))
    return result.model_copy(update={"tool_call_id": log.call.request.tool_call_id})


async def read_waiting(service: Service, caller: Caller) -> WaitingItems:
    """Return everything that waits for a person in what the caller sees."""
    access = caller.access
    async with service.database.transaction(access, snapshot=True) as connection:
        calls = await list_reviewed_calls(connection, access)
        given_up = await _given_up(connection, caller)
        read = await _read_files(Memory(connection, access), calls)
    files = {path: await _look_into(path, revision, calls) for path, revision in read.items()}
    kept = _kept(calls)
    user = access.user_id or ""
    found: dict[str, ReviewItem] = {}
    for call in calls:
        for item in (
            *_rivals(call, files, user),
            *_candidates(call, files, user),
            *_secrets(call, files, user),
        ):
            found.setdefault(item.id, item)
    items = [*found.values(), *(_queued(one, caller) for one in given_up)]
    waiting = [one for one in items if one.id not in kept]
    waiting.sort(key=lambda one: (one.since, one.id), reverse=True)
    return WaitingItems(waiting, is_complete=len(calls) < MAX_CALLS)


def _kept(calls: list[ReviewedCall]) -> set[str]:
    """Return the ids that persons decided to leave as they are; the newest decision about an id counts.

    About statements nothing is read here: their stamps say it, and a revert takes the stamp away again.
    """
    decided: dict[str, Decision] = {}
    for call in calls:
        for one in call.request.get("decisions", ()) if call.kind == DECIDE else ():
            decided.setdefault(one["id"], one["decision"])
    return {
        item for item, decision in decided.items() if decision == "keep" and not item.startswith(STATEMENT)
    }


async def _given_up(connection: Connection, caller: Caller) -> list[QueueEntry]:
    access = caller.access
    found = await queue.list_queue(connection, access, user_id=access.user_id, after=0, limit=MAX_QUEUED)
    return [one for one in found if one.status == "quarantined"]


async def _read_files(memory: Memory, calls: list[ReviewedCall]) -> dict[str, Revision]:
    """Return the files that calls speak of, as they stand now; without those that are gone."""
    paths = dict.fromkeys(path for call in calls for path in _paths_of(call))
    read: dict[str, Revision] = {}
    for path in paths:
        try:
            read[path] = await memory.read(path)
        except (FileNotFound, ProjectNotFound):
            continue
    return read


def _paths_of(call: ReviewedCall) -> Iterator[str]:
    for one in (*call.result.get("rivals", ()), *call.result.get("candidates", ())):
        yield one["path"]
    if call.result.get("rivals") or call.has_flagged_secret:
        yield from call.written_paths


async def _look_into(path: str, revision: Revision, calls: list[ReviewedCall]) -> _File:
    content = revision.content
    has_flag = any(path in call.written_paths for call in calls if call.has_flagged_secret)
    try:
        return _File(
            revision,
            await offload.run_on(content, statements_of, path, content) if is_statement_file(path) else {},
            await offload.run_on(content, secrets_of, path, content) if has_flag else [],
        )
    except MemexError:  # the text takes too long to read: it hides no other file
        return _File(revision)


def _rivals(call: ReviewedCall, files: dict[str, _File], user: str) -> Iterator[ReviewItem]:
    for rival in call.result.get("rivals", ()):
        older = _standing(rival, call.started_at, files)
        is_beside = any(
            holds(files[path].revision.content, rival["newer"])
            for path in call.written_paths
            if path in files
        )
        if older is not None and is_beside:
            yield _statement_item("rival", rival, older, call, files, user)


def _candidates(call: ReviewedCall, files: dict[str, _File], user: str) -> Iterator[ReviewItem]:
    for candidate in call.result.get("candidates", ()):
        statement = _standing(candidate, call.started_at, files)
        if statement is not None:
            yield _statement_item("forget", candidate, statement, call, files, user)


def _standing(named: dict[str, Any], since: datetime, files: dict[str, _File]) -> StandingStatement | None:
    """Return the statement that a handle names, if it stands and nobody has said since that it holds."""
    file = files.get(named["path"])
    found = file.statements.get(named["handle"]) if file else None
    is_confirmed = found is not None and found.still_true is not None and found.still_true >= since.date()
    return None if is_confirmed else found


def _statement_item(
    kind: ItemKind,
    named: dict[str, Any],
    statement: StandingStatement,
    call: ReviewedCall,
    files: dict[str, _File],
    user: str,
) -> ReviewItem:
    return ReviewItem(
        id=f"{STATEMENT}{named['path']}:{named['handle']}",
        kind=kind,
        user=user,
        path=named["path"],
        version=files[named["path"]].revision.version,
        span=statement.span,
        text=statement.text,
        newer=named.get("newer"),
        since=call.started_at.isoformat(),
        tool_call_id=call.tool_call_id,
        decisions=["apply", "keep"],
    )


def _secrets(call: ReviewedCall, files: dict[str, _File], user: str) -> Iterator[ReviewItem]:
    for path in call.written_paths if call.has_flagged_secret else ():
        for secret in files[path].secrets if path in files else ():
            yield ReviewItem(
                id=secret.id,
                kind="secret",
                user=user,
                path=path,
                version=files[path].revision.version,
                span=secret.span,
                text=secret.line,
                detail=secret.kind,
                since=call.started_at.isoformat(),
                tool_call_id=call.tool_call_id,
                decisions=["apply", "keep"],
            )


def _queued(entry: QueueEntry, caller: Caller) -> ReviewItem:
    return ReviewItem(
        id=f"queue:{entry.operation_id}",
        kind="queue",
        user=entry.user_id,
        path=None,
        version=None,
        span=None,
        text="",
        detail=entry.error_code,
        since=entry.accepted_at.isoformat(),
        tool_call_id=entry.tool_call_id,
        decisions=["apply", "keep"] if caller.principal.role == "admin" else ["keep"],
    )


def _logged(items: list[ReviewItem]) -> dict[str, Any]:
    """Return what the log keeps of a page: which items were shown, and references in place of their texts."""
    shown = [
        {"id": one.id, "kind": one.kind}
        | ({"text": {"$text": f"{one.path}@{one.version}:{one.span[0]}-{one.span[1]}"}} if one.span else {})
        for one in items
    ]
    return {"items": shown}
