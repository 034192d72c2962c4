"""Replay: a call of the log, run again in the state that it saw, and compared with what the log has."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from memex.errors import MemexError, VersionThinned
from memex.service.distil.tool import DISTIL
from memex.service.log.replay.compare import ChangedPart, Difference, changed_parts, difference
from memex.service.log.replay.logged_snapshots import access_of
from memex.service.log.replay.rerun import (
    LoggedCall,
    Rerun,
    RerunOptions,
    builtin_planner,
    check_replayable,
    failed_rerun,
    rerun,
)
from memex.service.log.replay.verify import (
    find_erased_revision,
    find_erased_row,
    find_log_damage,
    find_revision_damage,
    name_of,
)
from memex.service.tools.tool import ResultPart
from memex.store.access import Access
from memex.store.database import Database
from memex.store.log.call import InnerOperation, digest
from memex.store.log.operations import MODEL_REQUEST, OMITTED, to_storable
from memex.store.records import Operation
from memex.subagent.engine import ENGINE

# What comes of a row that has not the form of one which Memex wrote.
DISTORTED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
CLIENT = "client"  # of a model: what makes the bytes of its requests


class ReplayResult(ResultPart):
    """The result of a replay.

    Attributes:
        tool_call_id: the id of the call.
        attempt: at it.
        tool: such as `memory_context`.
        is_equal: the answer has the same bytes, every operation inside was the same, and nothing stored is damaged.
        is_same_answer: the answer has the same bytes, whatever differs besides.
        difference: the first thing that is not as the log has it.
        changed: parts of the engine that are others than when the call was made.
        result_sha256: of the answer in canonical JSON, as the log has it, in hex.
        replayed_sha256: of the answer now.
        removed: what the answer had chosen, found or written, and has not now, as `path@version` with its span.
        added: what it has now alone.
        result: the answer now.
        operations: how many operations were compared, of which `model_requests` were answered by the log.
        duration_ms: the duration of the replay.
        logged_ms: the duration of the logged call.
    """

    tool_call_id: str
    attempt: int
    tool: str
    is_equal: bool
    is_same_answer: bool
    difference: Difference | None
    changed: list[ChangedPart]
    result_sha256: str
    replayed_sha256: str
    removed: list[str]
    added: list[str]
    result: dict[str, Any]
    operations: int
    model_requests: int
    duration_ms: float
    logged_ms: float


async def replay(
    database: Database, access: Access, logged: LoggedCall, *, beside: Access | None = None
) -> ReplayResult:
    """Run a call again as it was, offline, and compare its answer byte for byte.

    Nothing beyond `access` is read.

    Raises:
        ValidationFailed: there is nothing of this call to run again.
        ProjectNotFound: the caller cannot read any more what the call saw.
        VersionNotFound: a revision that it saw is gone.
        LimitExceeded: too much was changed since to be read anew in place, as `calls` does elsewhere.
    """
    operation = logged.operation
    check_replayable(operation)
    found = find_erased_row(operation) or next(find_log_damage(logged), None)
    erased: Difference | None = None
    if found is None:
        seen = access_of(access, operation)
        found = next(iter(await find_revision_damage(database, seen, operation)), None)
        erased = await find_erased_revision(database, seen, operation)
    try:
        again = await rerun(database, access, logged, logged_options(logged), beside=beside)
    except MemexError as error:
        if isinstance(error, VersionThinned):
            reference = error.details["reference"]
            erased = Difference(what="thinned", where=reference, logged="a text", now=None)
        found = found or erased
        if found is None:
            raise
        again = failed_rerun(error.code)  # that it is damaged says more
    except DISTORTED:
        found = found or erased
        if found is None:
            raise
        again = failed_rerun(MemexError.code)
    is_same = digest(again.result) == operation.result_sha256
    if found is None and (found := _first_difference(operation, again)) is not None:
        found = erased or found  # what it saw then is gone, so it has to differ
    before, after = _items(logged.result), _items(again.logged)
    return ReplayResult(
        tool_call_id=operation.tool_call_id,
        attempt=operation.attempt,
        tool=operation.kind,
        is_equal=is_same and found is None,
        is_same_answer=is_same,
        difference=found,
        changed=_changed(logged),
        result_sha256=(operation.result_sha256 or b"").hex(),
        replayed_sha256=digest(again.result).hex(),
        removed=[item for item in before if item not in after],
        added=[item for item in after if item not in before],
        result=again.result,
        operations=len(again.inner),
        model_requests=sum(inner.kind == MODEL_REQUEST for inner in again.inner),
        duration_ms=round(again.duration_ms, 3),
        logged_ms=round(operation.duration_ms, 3),
    )


def logged_options(logged: LoggedCall) -> RerunOptions:
    """Return what a call was run with: the rules, or its model's answers as the log has them.

    Of a call that distilled, the log has what a model chose, and no answer of it.
    """
    if "model" not in (logged.operation.config or {}) or logged.operation.kind == DISTIL.name:
        return RerunOptions(builtin_planner(logged))
    from memex.subagent.model.recorded import recorded_planner, recording_of  # noqa: PLC0415  # a second of loading

    recorded = recording_of(logged.operation, logged.prompts)
    if recorded is None:
        return RerunOptions(builtin_planner(logged))
    made, spending = recorded_planner(recorded, builtin_planner(logged))
    return RerunOptions(made, spending)


def _items(result: dict[str, Any]) -> list[str]:
    """Return what an answer holds, by references: the spans of a context, hits, files, writes."""
    others = [item for name in ("hits", "files", "writes") for item in result.get(name, ())]
    return spans_of(result) + [
        other if isinstance(other, str) else f"{other['path']}@{other['version']}" for other in others
    ]


def spans_of(result: dict[str, Any]) -> list[str]:
    """Return the spans of a context: `path@version:start-end` each."""
    return [
        f"{source['path']}@{source['version']}:{span['start']}-{span['end']}"
        for source in result.get("sources", ())
        for span in source["spans"]
    ]


def _first_difference(operation: Operation, again: Rerun) -> Difference | None:
    """Return where the operations inside a call, or its answer, first differ from the log.

    A passage beside memory whose text is gone comes first: without it no answer can be the same.
    """
    for passage in again.erased:
        return Difference(what="erased", where=passage, logged="a text", now=None)
    # A model's request is not made again if the log has no answer to it.
    compared = [step for step in operation.inner if step.kind != MODEL_REQUEST or OMITTED not in step.request]
    for inner, now in zip_longest(compared, again.inner):
        if found := _operation_difference(inner, now):
            return found
    result = (operation.response or {}).get("result")
    if found := difference("result", "result", result, to_storable(again.logged)):
        return found
    if digest(again.result) != operation.result_sha256:
        what = "result.context" if "hash" in again.result else "result"
        return Difference(
            what="result",
            where=f"{what} (SHA-256 of the whole answer)",
            logged=(operation.result_sha256 or b"").hex(),
            now=digest(again.result).hex(),
        )
    return None


def _operation_difference(one: Operation | None, now: InnerOperation | None) -> Difference | None:
    if one is None:
        kind = now.kind if now else ""
        return Difference(what="operation", where="the end of the log", logged=None, now=kind)
    if now is None:
        return Difference(what="operation", where=name_of(one), logged=one.kind, now=None)
    # What a model answered is played, not compared: the log's digests say whether it is whole.
    is_answer = one.kind == MODEL_REQUEST == now.kind
    logged = [one.kind, one.request, one.error_code, None if is_answer else one.response, one.state]
    response = None if is_answer else to_storable(now.response)
    found = [now.kind, to_storable(now.request), now.error_code, response, now.state]
    for name, before, after in zip(_COMPARED, logged, found, strict=True):
        if differs := difference("operation", f"{name_of(one)}: {name}", before, after):
            return differs
    return None


_COMPARED: Sequence[str] = ("tool", "request", "error_code", "response", "state")


def _changed(logged: LoggedCall) -> list[ChangedPart]:
    changed = changed_parts(logged.operation.engine, ENGINE)
    client = (logged.operation.config or {}).get(CLIENT)
    if client is not None:
        from memex.subagent.model.planner import client_version as now  # noqa: PLC0415  # a second of loading

        if client != now():
            changed.append(ChangedPart(part=CLIENT, logged=client, now=now()))
    return changed
