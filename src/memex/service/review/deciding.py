"""Carrying out what a person decided about what waits."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any

import psycopg

from memex.errors import FileNotFound, HandleNotFound, ValidationFailed, VersionConflict
from memex.service.call import Caller
from memex.service.log.queue import retry_call
from memex.service.recording import CallLogger
from memex.service.review.items import MAX_DECISIONS, DecidedItem, DecidedResult, ItemDecision, ReviewItem
from memex.service.review.places import without_secrets
from memex.service.review.waiting import read_waiting
from memex.service.service import Service
from memex.store.entry_path import is_entry_at
from memex.store.log.call import CallAnswer
from memex.store.log.review import DECIDE
from memex.store.text_pool import offload
from memex.subagent.remember.settling import MAX_HANDLES

REASON = "A secret was taken out in the review."


async def decide(
    service: Service, caller: Caller, decisions: Sequence[ItemDecision], *, tool_call_id: str | None = None
) -> DecidedResult:
    """Carry out decisions about items, and log them.

    A decision about a statement is a call of memory_remember, and one that takes a secret out a call of
    memory_write, so each is undone as these are. The log alone holds that a secret or a given-up call stays.

    Raises:
        ValidationFailed: there are no decisions, too many or two about one item, or an item does not allow one.
        ToolCallConflict, ToolCallInProgress: the tool call id is taken.
    """
    _check_distinct(decisions)
    asked = {"decisions": [decision.model_dump() for decision in decisions]}
    async with service.recorder.recorded(caller, DECIDE, asked, tool_call_id=tool_call_id) as log:
        first = await log.first_result() or await _decide_now(service, caller, decisions, log)
    return DecidedResult.model_validate({**first, "tool_call_id": log.call.request.tool_call_id})


async def _decide_now(
    service: Service, caller: Caller, decisions: Sequence[ItemDecision], log: CallLogger
) -> dict[str, Any]:
    """Carry out decisions and log them; return the answer, or that of the same request which came first."""
    items = await _carry_out(service, caller, decisions)
    done = {item.id for item in items if item.status == "done"}
    given = {"decisions": [decision.model_dump() for decision in decisions if decision.id in done]}
    body = DecidedResult(items=items).body()
    try:
        await log.add("committed", CallAnswer(body, given, body))
    except psycopg.errors.UniqueViolation as violation:
        if violation.diag.constraint_name != "operation_once":
            raise
        if (first := await log.first_result()) is None:
            raise
        return first
    return body


async def _carry_out(
    service: Service, caller: Caller, decisions: Sequence[ItemDecision]
) -> list[DecidedItem]:
    """Carry out decisions, and return what became of each, in their order."""
    found = {waiting.id: waiting for waiting in (await read_waiting(service, caller)).items}
    for decision in decisions:
        _check_allowed(decision, found.get(decision.id))
    done: dict[str, DecidedItem] = {}
    for decision in decisions:
        if decision.decision == "reopen":
            done[decision.id] = DecidedItem(id=decision.id, decision="reopen", status="done")
        elif decision.id not in found:
            done[decision.id] = DecidedItem(id=decision.id, decision=decision.decision, status="gone")
    open_items = [(found[decision.id], decision) for decision in decisions if decision.id not in done]
    for item in await _settle_statements(service, caller, open_items):
        done[item.id] = item
    for item in await _settle_others(service, caller, open_items):
        done[item.id] = item
    return [done[decision.id] for decision in decisions]


def _check_distinct(decisions: Sequence[ItemDecision]) -> None:
    if not 0 < len(decisions) <= MAX_DECISIONS:
        raise ValidationFailed(
            f"{len(decisions)} decisions were sent.", hint=f"Send 1 to {MAX_DECISIONS} decisions in one call."
        )
    if len({decision.id for decision in decisions}) < len(decisions):
        raise ValidationFailed("Two decisions are about one item.", hint="Decide once about each item.")


def _check_allowed(decision: ItemDecision, item: ReviewItem | None) -> None:
    if item is not None and decision.decision != "reopen" and decision.decision not in item.decisions:
        raise ValidationFailed(
            f"{decision.decision!r} is not possible for the item {item.id!r}.",
            hint=f"Possible is: {', '.join(item.decisions)}. An administrator can try a queued call again.",
        )


async def _settle_statements(
    service: Service, caller: Caller, decided: Iterable[tuple[ReviewItem, ItemDecision]]
) -> list[DecidedItem]:
    """Carry out the decisions about statements, those of each mount together, as many as one call settles."""
    chosen = [
        (item, decision)
        for item, decision in decided
        if item.kind in ("rival", "forget") and not _is_kept_by_log(item, decision)
    ]
    chosen.sort(key=lambda pair: _project_of(pair[0]) or "")
    done: list[DecidedItem] = []
    for project, group in groupby(chosen, key=lambda pair: _project_of(pair[0])):
        pairs = list(group)
        for start in range(0, len(pairs), MAX_HANDLES):
            done += await _remember(service, caller, project, pairs[start : start + MAX_HANDLES])
    return done


async def _remember(
    service: Service, caller: Caller, project: str | None, pairs: Sequence[tuple[ReviewItem, ItemDecision]]
) -> list[DecidedItem]:
    arguments = {
        "outdated": [_handle_of(item) for item, decision in pairs if decision.decision == "apply"],
        "both_hold": [_handle_of(item) for item, decision in pairs if decision.decision == "keep"],
        "project": project,
    }
    try:
        answer = await service.execute(caller, "memory_remember", arguments)
    except HandleNotFound:  # none of them is there
        answer = {"tool_call_id": None, "unresolved": [{"handle": _handle_of(item)} for item, _ in pairs]}
    gone = {result["handle"] for result in answer["unresolved"]}
    return [
        DecidedItem(id=item.id, decision=decision.decision, status="gone")
        if _handle_of(item) in gone
        else DecidedItem(
            id=item.id,
            decision=decision.decision,
            status="done",
            tool_call_id=answer["tool_call_id"],
            undo="revert",
        )
        for item, decision in pairs
    ]


async def _settle_others(
    service: Service, caller: Caller, decided: Iterable[tuple[ReviewItem, ItemDecision]]
) -> list[DecidedItem]:
    """Carry out the decisions about secrets and given-up calls, and those to leave sentences of the journal."""
    chosen = [
        (item, decision)
        for item, decision in decided
        if item.kind in ("secret", "queue") or _is_kept_by_log(item, decision)
    ]
    sentences = [_handle_of(item) for item, _ in chosen if item.kind == "rival"]
    for start in range(0, len(sentences), MAX_HANDLES):
        held = {"both_hold": sentences[start : start + MAX_HANDLES]}
        with suppress(HandleNotFound):  # they are gone, and need no word
            await service.execute(caller, "memory_remember", held)
    done = [
        DecidedItem(id=item.id, decision="keep", status="done", undo="reopen")
        for item, decision in chosen
        if decision.decision == "keep"
    ]
    applied = [item for item, decision in chosen if decision.decision == "apply"]
    by_path: dict[str, list[ReviewItem]] = {}
    for item in applied:
        if item.path is not None:
            by_path.setdefault(item.path, []).append(item)
    for path, items in by_path.items():
        done += await _redact(service, caller, path, items)
    for item in applied:
        if item.kind == "queue":
            await retry_call(service, caller, item.tool_call_id)
            done.append(DecidedItem(id=item.id, decision="apply", status="done"))
    return done


def _is_kept_by_log(item: ReviewItem, decision: ItemDecision) -> bool:
    """Return whether a sentence of the journal stays, which has no stamp that could say so."""
    return decision.decision == "keep" and item.path is not None and is_entry_at(item.path)


async def _redact(
    service: Service, caller: Caller, path: str, items: Sequence[ReviewItem]
) -> list[DecidedItem]:
    """Put marks in the place of secrets of one file; if somebody wrote it meanwhile, nothing is changed."""
    ids = frozenset(item.id for item in items)
    try:
        read = await service.execute(caller, "memory_read", {"path": path})
        content = await offload.run_on(read["content"], without_secrets, path, read["content"], ids)
        arguments = {"path": path, "content": content, "base_version": read["version"], "reason": REASON}
        written = await service.execute(caller, "memory_write", arguments)
    except (FileNotFound, VersionConflict):
        return [DecidedItem(id=item.id, decision="apply", status="gone") for item in items]
    call = written["tool_call_id"]
    return [
        DecidedItem(id=item.id, decision="apply", status="done", tool_call_id=call, undo="revert")
        for item in items
    ]


def _handle_of(item: ReviewItem) -> str:
    return item.id.rpartition(":")[2]


def _project_of(item: ReviewItem) -> str | None:
    mount, _, rest = (item.path or "").partition("/")
    return rest.partition("/")[0] if mount == "projects" else None
