"""Items that wait for a person: told from the log, the files as they stand, and the queue. No row of its own.

An item is there as long as its reason is: the statement stands, the secret stands, the call is given up. What a
person decided to leave stands in the statement's stamp (`still true`), or else in the log as `review_decide`, which
is newer than the call that left the item and so is kept at least as long.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from memex.service.call import Caller
from memex.service.operation import LoggedAnswer, LoggedOperation, OperationCall
from memex.service.review.items import Decision, ItemKind, ReviewItem, ReviewResult
from memex.service.review.reading import FilesAsTheyStand, read_files, what_to_read
from memex.service.service import Service
from memex.service.tools.cursor import from_cursor, to_cursor
from memex.service.tools.tool import Arguments
from memex.store.database import Connection
from memex.store.entry_path import is_entry_at
from memex.store.log import queue
from memex.store.log.queue import QueueEntry
from memex.store.log.review import DECIDE, ReviewedCall, list_reviewed_calls

STATEMENT = "statement:"  # how the id of an item about a statement begins
MAX_QUEUED = 1_000  # calls of the queue that are looked at, the oldest
KINDS: tuple[ItemKind, ...] = ("rival", "forget", "secret", "queue")


class ReviewArguments(Arguments):
    """Items of one kind, or all; so many at most, behind those of the page before."""

    kind: ItemKind | None = None
    limit: Annotated[int, Field(ge=1, le=500)] = 50
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class WaitingItems:
    """Everything that waits for a person in what a caller sees, the newest first."""

    items: list[ReviewItem]
    is_complete: bool


async def _list_review(call: OperationCall, arguments: ReviewArguments) -> LoggedAnswer[ReviewResult]:
    """Return what waits for a person in the memory of the caller's user.

    For an admin who names no user, that is the queue of the tenant, and what calls of admins left.
    """
    after = from_cursor(arguments.cursor, str, str) if arguments.cursor is not None else None
    found = await read_waiting(call.service, call.caller)
    chosen = [item for item in found.items if arguments.kind in (None, item.kind)]
    if after is not None:
        chosen = [item for item in chosen if [item.since, item.id] < after]
    page = chosen[: arguments.limit]
    result = ReviewResult(
        items=page,
        counts={kind: sum(item.kind == kind for item in found.items) for kind in KINDS},
        next_cursor=to_cursor(page[-1].since, page[-1].id) if len(chosen) > arguments.limit else None,
        is_complete=found.is_complete,
    )
    return LoggedAnswer(result, _logged(page))


async def read_waiting(service: Service, caller: Caller) -> WaitingItems:
    """Return everything that waits for a person in what the caller sees."""
    access = caller.access
    async with service.database.transaction(access) as connection:
        calls, has_more = await list_reviewed_calls(connection, access)
        given_up = await _given_up(connection, caller)
    wanted = what_to_read(calls)
    files = await read_files(service, caller, wanted)
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
    items = [*found.values(), *(_queued(queued, caller) for queued in given_up)]
    waiting = [entry for entry in items if entry.id not in kept]
    waiting.sort(key=lambda entry: (entry.since, entry.id), reverse=True)
    return WaitingItems(waiting, is_complete=not has_more and files.keys() == wanted.keys())


def _kept(calls: list[ReviewedCall]) -> set[str]:
    """Return the ids that persons decided to leave as they are; the newest decision about an id counts.

    About statements of pages nothing is read here: their stamps say it, and a revert takes the stamp away again.
    """
    decided: dict[str, Decision] = {}
    for call in calls:
        for decision in call.request.get("decisions", ()) if call.kind == DECIDE else ():
            decided.setdefault(decision["id"], decision["decision"])
    return {
        item
        for item, decision in decided.items()
        if decision == "keep"
        and (not item.startswith(STATEMENT) or is_entry_at(item.removeprefix(STATEMENT).rpartition(":")[0]))
    }


async def _given_up(connection: Connection, caller: Caller) -> list[QueueEntry]:
    access = caller.access
    found = await queue.list_queue(connection, access, user_id=access.user_id, after=0, limit=MAX_QUEUED)
    return [entry for entry in found if entry.status == "quarantined"]


def _rivals(call: ReviewedCall, files: FilesAsTheyStand, user: str) -> Iterator[ReviewItem]:
    written = [file for path in call.written_paths if (file := files.get(path))]
    for rival in call.result.get("rivals", ()):
        if any(rival["newer"] in file.standing.texts for file in written):
            yield from _statements("rival", rival, call, files, user)


def _candidates(call: ReviewedCall, files: FilesAsTheyStand, user: str) -> Iterator[ReviewItem]:
    for candidate in call.result.get("candidates", ()):
        yield from _statements("forget", candidate, call, files, user)


def _statements(
    kind: ItemKind, named: dict[str, Any], call: ReviewedCall, files: FilesAsTheyStand, user: str
) -> Iterator[ReviewItem]:
    """Yield the statement that a handle names, if it stands and nobody has said since that it holds."""
    file = files.get(named["path"])
    found = file.standing.statements.get(named.get("handle", "")) if file else None
    if file is None or found is None:
        return
    if found.still_true is not None and found.still_true >= call.started_at.date():
        return
    yield ReviewItem(
        id=f"{STATEMENT}{named['path']}:{named['handle']}",
        kind=kind,
        user=user,
        path=named["path"],
        version=file.version,
        span=found.span,
        text=found.text,
        newer=named.get("newer"),
        detail=_request_text(call) if kind == "forget" else None,
        since=call.started_at.isoformat(),
        tool_call_id=call.tool_call_id,
        decisions=["apply", "keep"],
    )


def _request_text(call: ReviewedCall) -> str | None:
    """Return the words of a request to forget; None if it stood in a text that says more, which the journal has."""
    text = call.request.get("text")
    return text if isinstance(text, str) else None


def _secrets(call: ReviewedCall, files: FilesAsTheyStand, user: str) -> Iterator[ReviewItem]:
    for path in call.written_paths if call.has_flagged_secret else ():
        file = files.get(path)
        for secret in file.standing.secrets if file else ():
            yield ReviewItem(
                id=secret.id,
                kind="secret",
                user=user,
                path=path,
                version=file.version if file else None,
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
        {"id": item.id, "kind": item.kind}
        | (
            {"text": {"$text": f"{item.path}@{item.version}:{item.span[0]}-{item.span[1]}"}}
            if item.span
            else {}
        )
        for item in items
    ]
    return {"items": shown}


REVIEW = LoggedOperation("review_list", ReviewArguments, ReviewResult, _list_review)
