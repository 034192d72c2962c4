"""The calls that saw a revision, and the revisions that a call saw: how far a bad memory came."""

from collections.abc import Iterator
from typing import Any, Literal, get_args

from memex.service.service import Caller, Service
from memex.service.tools.cursor import from_cursor, to_cursor
from memex.service.tools.tool import ResultPart
from memex.store.log import operations as log
from memex.store.log.exposure import find_revisions, split_reference
from memex.store.log.operations import EMBED, MODEL_REQUEST
from memex.store.memory import Memory
from memex.store.records import Operation

Exposure = Literal["returned", "shown", "embedded", "read", "found", "listed"]

# What it means that an operation names a revision. Any other kind has read it.
EXPOSURE_BY_KIND: dict[str, Exposure] = {
    "memory_find": "found",
    "memory_passages": "found",
    "memory_links": "found",
    "memory_list": "listed",
    "memory_catalogue": "listed",
    "memory_pinned": "listed",
    "memory_history": "listed",
    MODEL_REQUEST: "shown",
    EMBED: "embedded",
}
EXPOSURE_ORDER: tuple[Exposure, ...] = get_args(Exposure)


class CallThatSaw(ResultPart):
    """An attempt at a call that saw a revision, for whom it was made, how it saw it, and what it wrote.

    `returned`: it stood in the answer; `shown` to a model; `embedded`: sent to an embedder; `read`; `found` by a
    search, with its passages scored; `listed` by its name.
    """

    tool_call_id: str
    attempt: int
    tool: str
    status: str
    user: str | None
    actor: str | None
    started_at: str
    how: list[Exposure]
    writes: list[str]


class CallsThatSaw(ResultPart):
    """The calls that saw a revision, the newest first; `next_cursor` is null after the first one."""

    path: str
    version: int
    calls: list[CallThatSaw]
    next_cursor: str | None


class RevisionSeen(ResultPart):
    """A revision that a call saw, and how; see `CallThatSaw`."""

    path: str
    version: int
    how: list[Exposure]


class RevisionsSeen(ResultPart):
    """The revisions that all attempts at a call saw, by path and version, and those that they wrote."""

    tool_call_id: str
    revisions: list[RevisionSeen]
    writes: list[str]


async def calls_that_saw(
    service: Service,
    caller: Caller,
    path: str,
    version: int | None = None,
    *,
    limit: int = 50,
    cursor: str | None = None,
) -> CallsThatSaw:
    """Return the calls of the caller's user that saw a revision.

    An admin who names no user asks for shared/ or a project, and gets the calls of everybody in the tenant. Calls
    that were logged before the log knew what they saw are missing.

    `path` is as the caller's user writes it; without a `version` it is the newest.

    Raises:
        VersionNotFound: the path never had that version.
        FileNotFound: the newest version is asked for, and there is no file.
        ValidationFailed: an admin who names no user asks for user/….
    """
    access = caller.access
    before = from_cursor(cursor, int)[0] if cursor is not None else None
    async with service.database.transaction(access) as connection:
        revision = await Memory(connection, access).read(path, version=version)
        found = await log.list_calls_that_saw(
            connection,
            access,
            revision.reference,
            by_anyone=access.role == "admin" and access.user_id is None,
            limit=limit + 1,
            before=before,
        )
    page = found[:limit]
    return CallsThatSaw(
        path=revision.virtual_path,
        version=revision.version,
        calls=[_call(operation, revision.reference) for operation in page],
        next_cursor=to_cursor(page[-1].operation_id) if len(found) > limit else None,
    )


async def revisions_seen(service: Service, caller: Caller, tool_call_id: str) -> RevisionsSeen:
    """Return the revisions that a call of the caller's saw, in any attempt at it.

    Raises:
        OperationNotFound: the caller made no such call.
    """
    async with service.database.transaction(caller.access) as connection:
        attempts = await log.read_known_call(connection, caller.access, tool_call_id)
    seen: dict[tuple[str, int], set[Exposure]] = {}
    for attempt in attempts:
        for reference, how in exposures(attempt):
            seen.setdefault(split_reference(reference), set()).add(how)
    return RevisionsSeen(
        tool_call_id=tool_call_id,
        revisions=[
            RevisionSeen(path=path, version=version, how=_ordered(how))
            for (path, version), how in sorted(seen.items())
        ],
        writes=[write for attempt in reversed(attempts) for write in _writes(attempt)],
    )


def exposures(operation: Operation) -> Iterator[tuple[str, Exposure]]:
    """Yield each revision that a call saw, with one way in which it did. Pure."""
    written = frozenset(_writes(operation))
    answer = operation.response.get("result") if isinstance(operation.response, dict) else None
    named: list[tuple[Exposure, Any]] = [
        (EXPOSURE_BY_KIND.get(inner.kind, "read"), (inner.request, inner.response))
        for inner in operation.inner
    ]
    named += list(_answer_exposures(operation.kind, operation.request, answer))
    for how, values in named:
        for reference in find_revisions(values):
            if reference not in written:
                yield reference, how


def _answer_exposures(tool: str, request: Any, answer: Any) -> Iterator[tuple[Exposure, Any]]:
    """Yield what an answer names: what stands in a context is returned, and what was left out of it found."""
    if isinstance(answer, dict) and "sources" in answer:
        yield "returned", (answer["sources"],)
        yield "found", ({name: value for name, value in answer.items() if name != "sources"},)
    else:
        yield EXPOSURE_BY_KIND.get(tool, "returned"), (answer,)
    yield EXPOSURE_BY_KIND.get(tool, "read"), (request,)


def _call(operation: Operation, reference: str) -> CallThatSaw:
    return CallThatSaw.taken_from(
        operation,
        tool=operation.kind,
        user=operation.user_id or None,
        actor=operation.principal.get("actor"),
        how=_ordered({how for named, how in exposures(operation) if named == reference}),
        writes=_writes(operation),
    )


def _ordered(how: set[Exposure]) -> list[Exposure]:
    return [exposure for exposure in EXPOSURE_ORDER if exposure in how]


def _writes(operation: Operation) -> list[str]:
    response = operation.response if isinstance(operation.response, dict) else {}
    return list(response.get("writes") or [])
