"""Undo all that one actor did since a time, in one commit: a preview first, which whoever asks then confirms."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from memex.errors import PreviewOutdated, Refused, VersionConflict
from memex.service.call import to_plain
from memex.service.operation import LoggedAnswer, LoggedOperation, OperationCall
from memex.service.tools.revisions import RevertedResult, logged_files, reverted_files
from memex.service.tools.tool import Arguments, ResultPart, StorableText, ToolResult, example
from memex.store.access import Access
from memex.store.database import Connection
from memex.store.journal.earlier_calls import reverted_in
from memex.store.log.call import CallAnswer, digest
from memex.store.log.call_search import CallFilters, CallPlace, search_calls
from memex.store.records import FileChange, Operation
from memex.store.writes.revisions import UndoneRevision

MAX_CALLS = 1_000
MAX_LATER = 20  # later calls that are named for a file
_BATCH = re.compile(r"([.]\d+)+$")  # behind the id of an import, in the ids of its batches
# Calls, the newest first; how many were undone before; whether there are older ones.
Found = tuple[list[Operation], int, bool]


class RevertAllArguments(Arguments):
    """All that an actor wrote since a time. Without `confirm` it is only shown what would change back."""

    model_config = example(actor="night-agent", since="2026-11-29T10:00:00Z")

    actor: Annotated[StorableText, Field(min_length=1, max_length=200, description="As it named itself.")]
    since: Annotated[AwareDatetime, Field(strict=False, description="Calls begun at this time or later.")]
    confirm: Annotated[StorableText | None, Field(max_length=100, description="Of the preview.")] = None


class UndoneCall(ResultPart):
    """A call to undo; it is not `is_whole` if a file that it wrote is kept as it is."""

    tool_call_id: str
    tool: str
    started_at: str
    is_whole: bool


class UnrevertedFile(ResultPart):
    """A file that stays as it is: `VERSION_CONFLICT` where the later calls rewrote what was written."""

    path: str
    code: str
    later_calls: list[str]


class RevertAllResult(ToolResult):
    """A preview, which `confirm` carries out, or what was done.

    `status` is `nothing` if nothing would change. At most 1,000 `calls` are undone at once, the newest; `more` says
    that there are older ones, which the same request undoes next. `skipped` were undone before.
    """

    status: Literal["preview", "nothing", "reverted"]
    calls: list[UndoneCall]
    skipped: int
    more: bool
    writes: list[RevertedResult]
    kept: list[UnrevertedFile]
    confirm: str | None = None


async def _revert_all(call: OperationCall, arguments: RevertAllArguments) -> LoggedAnswer[RevertAllResult]:
    """Return a preview, or undo what one showed; raises PreviewOutdated for `confirm` of another preview."""
    async with call.database.transaction(call.access, snapshot=True) as connection:
        found = await _calls(connection, call.access, arguments)
    draft = call.service.draft(call.caller)
    undone, refused = await draft.undo(
        [write for one in found[0] for write in _writes(one)],
        [one.tool_call_id for one in found[0]],
        f"revert all of {arguments.actor} since {to_plain(arguments.since)}",
        keeps_later=True,
    )
    shown = partial(_result, arguments, found, undone, refused)

    def answer(changes: tuple[FileChange, ...]) -> CallAnswer:
        preview = shown(changes)
        if preview.confirm != arguments.confirm:
            raise PreviewOutdated("This is not what the preview showed.", confirm=preview.confirm)
        done = preview.model_copy(update={"status": "reverted", "confirm": None}).body()
        return CallAnswer(
            done, arguments.canonical(), done | {"writes": logged_files(filter(_is_changed, changes))}
        )

    if arguments.confirm is None:
        preview = shown((await draft.preview()).changes)
        logged = {"status": preview.status, "calls": len(preview.calls), "files": len(preview.writes)}
        return LoggedAnswer(preview, logged, status="dry_run")
    try:
        commit = await draft.commit(call.log.call, answer)
    except VersionConflict as conflict:
        raise PreviewOutdated("A file was written since the preview.") from conflict
    if commit.is_repeat:
        await call.log.add("repeated")
    return LoggedAnswer(RevertAllResult.model_validate(commit.result), None)


async def _calls(connection: Connection, access: Access, arguments: RevertAllArguments) -> Found:
    filters = CallFilters(status="committed", actor=arguments.actor, since=arguments.since)
    reverted = await reverted_in(connection, access.logs, access.user_id or "", filters.actor, filters.since)
    place: CallPlace | None
    calls, skipped, place = list[Operation](), 0, CallPlace()
    while place is not None and len(calls) <= MAX_CALLS:
        page = await search_calls(connection, access, filters, limit=MAX_CALLS, after=place)
        writing = [one for one in page.calls if _writes(one) or one.kind == "memory_remember"]
        kept = [one for one in writing if not {one.tool_call_id, _BATCH.sub("", one.tool_call_id)} & reverted]
        calls, skipped, place = calls + kept, skipped + len(writing) - len(kept), page.next_place
    return calls[:MAX_CALLS], skipped, len(calls) > MAX_CALLS


def _result(
    arguments: RevertAllArguments,
    found: Found,
    undone: Sequence[UndoneRevision],
    refused: Mapping[str, Refused],
    changes: Sequence[FileChange],
) -> RevertAllResult:
    """Return a preview of what the changes of a draft would undo."""
    calls, skipped, has_more = found
    touched, changed = {change.old_reference for change in changes}, list(filter(_is_changed, changes))
    kept = [UnrevertedFile(path=path, code=error.code, later_calls=[]) for path, error in refused.items()]
    partly = {
        one.tool_call_id for one in calls for write in _writes(one) if write.rpartition("@")[0] in refused
    }
    for one in undone:
        path = one.place.scope.virtual(one.head.path)
        if f"{path}@{one.head.version}" not in touched and not one.is_undone:
            later = list(dict.fromkeys(one.later_calls))[-MAX_LATER:]
            kept.append(UnrevertedFile(path=path, code=VersionConflict.code, later_calls=later))
            partly.update(one.calls)
    is_nothing = not changed and all(_writes(one) for one in calls)
    preview = RevertAllResult(
        status="nothing" if is_nothing else "preview",
        calls=[
            UndoneCall.taken_from(one, tool=one.kind, is_whole=one.tool_call_id not in partly)
            for one in calls
        ],
        skipped=skipped,
        more=has_more,
        writes=reverted_files(changed),
        kept=kept,
    )
    told = preview.body() | {"of": arguments.canonical() | {"confirm": None}}
    return preview if is_nothing else preview.model_copy(update={"confirm": digest(told).hex()[:32]})


def _is_changed(change: FileChange) -> bool:
    return change.changed


def _writes(operation: Operation) -> list[str]:
    return list((operation.response or {}).get("writes", ()))


REVERT_ALL = LoggedOperation("memory_revert_all", RevertAllArguments, RevertAllResult, _revert_all)
