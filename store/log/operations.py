"""The log: every call under its caller's tool call id, with references for the texts that revisions hold."""

import json
import re
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from memex.errors import OperationNotFound, ToolCallConflict, ToolCallInProgress, VersionNotFound
from memex.store.access import Access
from memex.store.database import Connection, Rows, Statement, row, rows
from memex.store.diff import unified
from memex.store.log.call import (
    Call,
    CallAnswer,
    CallOutcome,
    InnerOperation,
    canonical_json,
    digest,
    text_digest,
)
from memex.store.log.exposure import find_revisions
from memex.store.paths import check_tool_call_id, parse
from memex.store.records import Operation, Status, check_text
from memex.store.search.index import ENGINE
from memex.store.sql import sql

WRITTEN_TEXT_CHARS = 1_000  # a longer text that no revision holds is logged as its digest
QUERY_CHARS = 200  # of an operation inside a call; the call itself has the whole
MAX_LOGGED_ARGUMENTS = 50
MAX_ATTEMPTS = 100
MAX_INNER = 1_000
DIGEST_BYTES = 32
RETRY_AFTER_S = 2  # what a caller waits who asks again for a call that is not done yet
NEWEST = 2**62  # above every operation id
LARGE = 1e16  # from here on jsonb gives a whole number back without its point
EMBED = "embed"  # the kind of an operation that sends texts to an embedder
MODEL_REQUEST = "model_request"  # the kind of an inner operation that is a request to a chat model
SAME_STATE = 0  # of an operation inside a call that saw the state of the one before it
OMITTED = "omitted"  # in such a request, if the log does not keep the answer

# In JSON, what a value may look like that `to_storable` changes, beside lone surrogates: NUL, -0.0 and `LARGE`.
_SUSPECTS = ("\\u0000", "-0.0", "e+")


async def add(
    connection: Connection,
    access: Access,
    call: Call,
    *,
    status: Status,
    answer: CallAnswer | None = None,
    writes: Sequence[str] = (),
    state: dict[str, int] | None = None,
    error_code: str | None = None,
) -> None:
    """Log one call, in the transaction of `connection`.

    The connection is that of the write, so that both are committed or none, or one of its own. `writes` are
    revisions as `path@version`, and `state` has the number of changes that the call saw of each mount.

    Raises:
        UniqueViolation: of `operation_once`, when another call was committed under this id.
    """
    config = ((answer.config if answer else None) or {}) | call.record.config
    if call.record.secrets:
        config["secrets"] = call.record.secrets
    parameters = {
        "scope_id": access.log_scope_id,
        "tenant_id": access.tenant_id,
        "tool_call_id": call.request.tool_call_id,
        "user_id": access.user_id or "",
        "kind": to_storable(call.request.tool),
        "status": status,
        "principal": to_json(call.request.principal),
        "request": to_json(_request_to_log(call, status, answer)),
        "request_sha256": call.request.request_sha256,
        "response": None if answer is None else to_json({"result": answer.response, "writes": list(writes)}),
        "result_sha256": None if answer is None else digest(answer.result),
        "state": None if state is None else to_json(state),
        "engine": call.request.engine,
        "config": to_json(config) if config else None,
        "now": call.request.now,
        "error_code": error_code,
        "duration_ms": (time.perf_counter() - call.record.started_s) * 1000,
        "saw": _revisions_seen(call, answer, writes),
    }
    for sha256, text in call.record.prompts.items():
        await connection.execute(
            sql("log/prompt_keep"), {"tenant_id": access.tenant_id, "sha256": sha256, "text": text}
        )
    inner = list(enumerate(call.record.inner[:MAX_INNER], start=1))
    steps = [(at, one) for at, one in inner if one.prompt_sha256 is None]
    added = await connection.execute(
        sql("log/operation_add"), parameters | _inside_columns(steps, call.request.now)
    )
    if len(steps) < len(inner):  # requests to models have rows of their own
        asked = [(at, one) for at, one in inner if one.prompt_sha256 is not None]
        [logged] = await added.fetchall()
        place = {"scope_id": access.log_scope_id, "parent_id": logged["operation_id"]}
        await connection.execute(sql("log/request_add"), place | _request_columns(asked))
    call.record.outcomes.append(
        CallOutcome(status, error_code, answer.result.get("degraded") if answer else None)
    )


async def add_embedding(
    connection: Connection,
    scope_id: int,
    user_id: str | None,
    model: str,
    revisions: Sequence[str],
    *,
    texts: int,
    started_at: datetime,
    duration_ms: float,
    error_code: str | None = None,
) -> None:
    """Log in a scope's own log which of its revisions an embedder saw parts of. For maintenance.

    The connection is that of the transaction that stores the vectors, or one of its own. The revisions are
    `path@version`. The texts of a request that failed may have been read all the same.
    """
    request = {"revisions": list(revisions), "texts": texts}
    await connection.execute(
        sql("log/operation_embed"),
        {
            "scope_id": scope_id,
            "tool_call_id": f"embed_{secrets.token_hex(12)}",
            "user_id": user_id or "",
            "kind": EMBED,
            "status": "failed" if error_code else "answered",
            "principal": to_json({"role": "system"}),
            "request": to_json(request),
            "request_sha256": digest([EMBED, request]),
            "response": None if error_code else to_json({"result": {"vectors": texts}, "writes": []}),
            "engine": ENGINE,
            "model": model,
            "config": to_json({"embedder": model}),
            "started_at": started_at,
            "duration_ms": duration_ms,
            "error_code": error_code,
            "saw": sorted(set(revisions)),
        },
    )


def _revisions_seen(call: Call, answer: CallAnswer | None, writes: Sequence[str]) -> list[str]:
    """Return the revisions that a call saw: in the operations inside it, and in its answer. Not what it wrote."""
    values = [value for operation in call.record.inner for value in (operation.request, operation.response)]
    if answer is not None:
        values += [answer.request, answer.response]
    return [revision for revision in find_revisions(values) if revision not in writes]


def _inside_columns(inner: Sequence[tuple[int, InnerOperation]], now: datetime) -> dict[str, Any]:
    """Return operations as the row of their call keeps them; `_inside` reads them again.

    Each is its ordinal, kind, request, response, state (0: that of the one before), error code, microseconds since
    the clock of the call, and duration. A digest is made of kind, request and response as they are stored.
    """
    if not inner:
        return {"inside": None, "inside_sha256": None}
    texts: list[str] = []
    digests: list[bytes] = []
    last: dict[str, int] | None = None
    for ordinal, operation in inner:
        told = f"{to_json(operation.kind)},{to_json(operation.request)},{to_json(operation.response)}"
        state = SAME_STATE if texts and operation.state == last else operation.state
        began_us = (operation.started_at - now) // timedelta(microseconds=1)
        rest = to_json([state, operation.error_code, began_us, round(operation.duration_ms, 3)])
        texts.append(f"[{ordinal},{told},{rest[1:]}")
        digests.append(text_digest(f"[{told}]"))
        last = operation.state
    return {"inside": f"[{','.join(texts)}]", "inside_sha256": b"".join(digests)}


def _request_columns(inner: Sequence[tuple[int, InnerOperation]]) -> dict[str, Any]:
    """Return the columns of requests to models; a digest is made of the text that is stored."""
    asked = [operation for _, operation in inner]
    requests = [to_json(operation.request) for operation in asked]
    responses = [None if operation.response is None else to_json(operation.response) for operation in asked]
    kinds = [to_json(operation.kind) for operation in asked]
    return {
        "ordinals": [ordinal for ordinal, _ in inner],
        "kinds": [operation.kind for operation in asked],
        "statuses": [_status_of(operation.error_code) for operation in asked],
        "requests": requests,
        "request_sha256s": [
            text_digest(f"[{kind},{request}]") for kind, request in zip(kinds, requests, strict=True)
        ],
        "responses": responses,
        "states": [None if operation.state is None else to_json(operation.state) for operation in asked],
        "error_codes": [operation.error_code for operation in asked],
        "starts": [operation.started_at for operation in asked],
        "durations_ms": [operation.duration_ms for operation in asked],
        "models": [operation.model for operation in asked],
        "usages": [None if operation.usage is None else to_json(operation.usage) for operation in asked],
        "prompt_sha256s": [operation.prompt_sha256 for operation in asked],
        "result_sha256s": [None if text is None else text_digest(text) for text in responses],
    }


def _status_of(error_code: str | None) -> Status:
    return "failed" if error_code else "answered"


def committed_statement(access: Access, tool_call_id: str) -> Statement:
    """Return the statement that finds the call which holds this tool call id, or has spent it."""
    return "log/operation_committed", {
        "scope_ids": access.logs,
        "user_id": access.user_id or "",
        "tool_call_id": tool_call_id,
    }


async def writes_of(connection: Connection, access: Access, tool_call_id: str) -> list[str]:
    """Return the revisions that a call wrote, as `path@version`; of an import, those of all its batches.

    Raises:
        OperationNotFound: no such call of this caller committed anything.
    """
    wanted = {"scope_ids": access.logs, "user_id": access.user_id or "", "tool_call_id": tool_call_id}
    found = await row(connection, "log/operation_writes", **wanted)
    if found is None:
        found = await row(connection, "log/import_writes", **wanted)
    if found is None or found["writes"] is None:
        raise OperationNotFound(
            f"No call {tool_call_id!r} of this user wrote anything.", tool_call_id=tool_call_id
        )
    writes: list[str] = found["writes"]
    return writes


async def first_result(
    connection: Connection, access: Access, call: Call, found: Rows
) -> dict[str, Any] | None:
    """Return the result of the call that `committed_statement` found, None when it found none.

    None too when `call` is to take its place: that one was given up in the queue, or `call` comes from there.

    Raises:
        ToolCallConflict: it was another request.
        ToolCallInProgress: it still runs, or waits in the queue.
    """
    first = find_holder(call, found)
    if first is None or first["status"] == "quarantined" or first["operation_id"] == call.request.accepted_id:
        return None
    if first["status"] != "committed":
        does = "is in the queue" if first["status"] == "queued" else "still runs"
        raise ToolCallInProgress(
            f"The call {call.request.tool_call_id!r} {does}.", retry_after_s=RETRY_AFTER_S
        )
    result: dict[str, Any] = await expand(connection, access, first["response"]["result"])
    return result


def find_holder(call: Call, found: Rows) -> dict[str, Any] | None:
    """Return the row that `committed_statement` found; raises ToolCallConflict when it is another request."""
    if found and bytes(found[0]["request_sha256"]) != call.request.request_sha256:
        raise ToolCallConflict(
            f"The tool call id {call.request.tool_call_id!r} was used for another request."
        )
    return found[0] if found else None


async def end_queued_call(connection: Connection, found: Rows, status: Status) -> None:
    """Set the status of the queued call that `committed_statement` found; do nothing if it found none."""
    for held in found:
        place = {"scope_id": held["scope_id"], "operation_id": held["operation_id"]}
        await connection.execute(sql("log/queue_settle"), place | {"status": status})


async def expand(connection: Connection, access: Access, value: Any) -> Any:
    """Return a logged value with its texts and diffs put back from the revisions.

    Raises:
        VersionNotFound: a revision that it names is gone.
    """
    if isinstance(value, list):
        return [await expand(connection, access, item) for item in value]
    if not isinstance(value, dict):
        return value
    if "$text" in value:
        return await _text(connection, access, value["$text"])
    if "$diff" in value:
        old, new = value["$diff"]
        old_text = await _text(connection, access, old) if old else ""
        return unified(old_text, await _text(connection, access, new), old or "/dev/null", new)
    return {name: await expand(connection, access, item) for name, item in value.items()}


async def _text(connection: Connection, access: Access, reference: str) -> str:
    match = re.fullmatch(r"(.*)@(\d+)(?::(\d+)-(\d+))?", reference)
    if match is None:
        raise ValueError(f"{reference!r} is no reference")
    path, version = parse(match[1]), int(match[2])
    scope = access.scope_of(path)
    if match[3] is None:
        place = {"scope_id": scope.scope_id, "path": path.relative, "version": version}
        stored = await row(connection, "memory/revision_read", **place)
        text = stored["content"] if stored and stored["thinned"] is None else None
    else:
        columns = {"paths": [path.relative], "versions": [version], "scope_ids": [scope.scope_id]}
        span = {"starts": [int(match[3])], "ends": [int(match[4])]}
        stored = await row(connection, "memory/revision_span", **columns, **span)
        text = stored["text"] if stored else None
    if stored is None:
        raise VersionNotFound(f"{reference} is gone.", path=str(path))
    if text is None:
        check_text(reference, ())
    return str(text)


def _request_to_log(call: Call, status: Status, answer: CallAnswer | None) -> dict[str, Any]:
    """Return how the arguments are kept. A repeated call's are those of its first attempt, by their digest."""
    if status == "repeated":
        return {}
    return answer.request if answer else _summarise(call.request.arguments)


def _summarise(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call that stored nothing: what is long becomes its length and digest."""
    return {
        name[:100]: shorten(value, max_chars=WRITTEN_TEXT_CHARS)
        for name, value in list(arguments.items())[:MAX_LOGGED_ARGUMENTS]
    }


async def read_call(connection: Connection, access: Access, tool_call_id: str) -> list[Operation]:
    """Return the newest attempts at one of the caller's calls, at most 100, newest first, with what is inside."""
    found = await rows(
        connection,
        "log/operation_read",
        scope_ids=access.visible_logs,
        user_id=access.user_id or "",
        tool_call_id=tool_call_id,
        limit=MAX_ATTEMPTS,
    )
    calls = await _with_inner(connection, access.visible_logs, found)
    return [replace(call, saw=tuple(call.saw)) for call in calls]


async def read_known_call(connection: Connection, access: Access, tool_call_id: str) -> list[Operation]:
    """Return what `read_call` returns; raises OperationNotFound if the caller made no such call."""
    found = await read_call(connection, access, check_tool_call_id(tool_call_id))
    if not found:
        raise OperationNotFound(f"No call {tool_call_id!r} of this user.", tool_call_id=tool_call_id)
    return found


async def list_calls_that_saw(
    connection: Connection,
    access: Access,
    revision: str,
    *,
    by_anyone: bool = False,
    limit: int,
    before: int | None = None,
) -> list[Operation]:
    """Return the calls that saw a revision, the newest first, with what is inside.

    `revision` is `path@version`, by the names of whoever called: `user/…` is another file for each user.
    `by_anyone` means everybody of the tenant, as far as `access` lets its calls be read: all for an admin.
    """
    logs = access.visible_logs
    if by_anyone:
        found = await rows(connection, "log/scope_logs", tenant_id=access.tenant_id)
        logs = [record["scope_id"] for record in found]
    records = await rows(
        connection,
        "log/operation_saw",
        scope_ids=logs,
        user_id=None if by_anyone else access.user_id or "",
        revision=revision,
        before=NEWEST if before is None else before,
        limit=limit,
    )
    scope_ids = sorted({record.pop("scope_id") for record in records})
    return await _with_inner(connection, scope_ids, records)


async def _with_inner(connection: Connection, scope_ids: Sequence[int], records: Rows) -> list[Operation]:
    """Return calls with the operations inside them, at most 1,000 of each in rows of their own, in their order."""
    inner: dict[int, list[Operation]] = {record["operation_id"]: [] for record in records}
    for inner_record in await rows(
        connection, "log/operation_inner", scope_ids=scope_ids, parent_ids=list(inner)
    ):
        inner[inner_record.pop("parent_id")].append(Operation(**inner_record))
    calls = []
    for record in records:
        inside, digests = record.pop("inside"), record.pop("inside_sha256")
        call = Operation(**record)
        held = [*_inside(call, inside or [], digests or b""), *inner[call.operation_id]]
        calls.append(replace(call, inner=tuple(sorted(held, key=lambda step: step.ordinal))))
    return calls


def _inside(call: Operation, inside: Sequence[Sequence[Any]], digests: bytes) -> Iterator[Operation]:
    """Yield the operations that stand in the row of a call; see `_inside_columns`."""
    if call.now is None:
        raise ValueError("the call was read without its clock")
    last = None
    for at, told in enumerate(inside):
        ordinal, kind, request, response, state, error_code, began_us, duration_ms = told
        last = last if state == SAME_STATE else state
        yield replace(
            call,
            ordinal=ordinal,
            kind=kind,
            status=_status_of(error_code),
            principal={},
            request=request,
            response=response,
            state=last,
            error_code=error_code,
            started_at=call.now + timedelta(microseconds=began_us),
            duration_ms=float(duration_ms),
            config=None,
            request_sha256=None,
            result_sha256=None,
            told_sha256=digests[at * DIGEST_BYTES :][:DIGEST_BYTES],
            saw=(),
        )


def shorten(value: Any, *, max_chars: int = QUERY_CHARS) -> Any:
    """Return a value as it is logged: of one that is longer its digest and length."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(text) > max_chars:
        return {"$sha256": digest(value).hex(), "chars": len(text)}
    return value


def to_json(value: Any) -> str:
    """Return a value as the log stores it, in canonical form: `canonical_json` of `to_storable(value)`."""
    text = canonical_json(value)
    return text if is_storable(text) else canonical_json(to_storable(value))


def is_storable(text: str) -> bool:
    """Return whether the JSON of a value is surely that of `to_storable(value)`, which looks at every part."""
    if any(suspect in text for suspect in _SUSPECTS):
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def to_storable(value: Any) -> Any:
    """Return a value as jsonb gives it back: what it cannot hold is replaced, and a number is written in one way.

    A call that was refused for a NUL or a lone surrogate is logged too.
    """
    if isinstance(value, str):
        return value.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()
    if isinstance(value, list | tuple):
        return [to_storable(item) for item in value]
    if isinstance(value, dict):
        return {to_storable(name): to_storable(item) for name, item in value.items()}
    if isinstance(value, float) and value.is_integer() and (value == 0 or abs(value) >= LARGE):
        return int(value) if value else 0.0
    return value
