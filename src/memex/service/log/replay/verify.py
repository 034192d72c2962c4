"""Verify by digests that the log and the revisions hold what was stored."""

import hashlib
from collections.abc import Iterator
from typing import Any

from memex.service.log.replay.compare import Difference
from memex.service.log.replay.logged_snapshots import states
from memex.service.log.replay.rerun import LoggedCall
from memex.store.access import Access
from memex.store.database import Database, rows
from memex.store.log.call import digest
from memex.store.log.operations import MODEL_REQUEST
from memex.store.records import Operation
from memex.store.upkeep.words.filling import ERASED


def find_log_damage(logged: LoggedCall) -> Iterator[Difference]:
    """Yield where the log is not as it was written: the request, what came back inside the call, the prompts."""
    operation = logged.operation
    asked = [operation.kind, operation.request]
    yield from _damage("request", "request", operation.request_sha256, digest(asked))
    for inner in operation.inner:
        name, asked = name_of(inner), [inner.kind, inner.request]
        if inner.told_sha256 is not None:
            yield from _damage("recorded", name, inner.told_sha256, digest([*asked, inner.response]))
        yield from _damage("recorded", f"{name}: request", inner.request_sha256, digest(asked))
        if inner.result_sha256 is not None:
            yield from _damage("recorded", f"{name}: response", inner.result_sha256, digest(inner.response))
    for sha256 in dict.fromkeys(inner.prompt_sha256 for inner in operation.inner if inner.prompt_sha256):
        text = logged.prompts.get(sha256)
        if text is None:
            yield Difference(what="prompt", where=f"prompt {sha256.hex()}", logged=sha256.hex(), now=None)
        else:
            found = hashlib.sha256(text.encode()).digest()
            yield from _damage("prompt", f"prompt {sha256.hex()}", sha256, found)


async def find_revision_damage(database: Database, access: Access, operation: Operation) -> list[Difference]:
    """Return which revisions of the scopes that a call saw are not as they were written: the first ten.

    What was written after the call does not count.
    """
    return [
        Difference(what="revision", where=f"{name}: sha256", logged=found["stored"], now=found["found"])
        for name, found in await _revisions(database, access, operation, "upkeep/revision_damaged")
    ]


def find_erased_row(operation: Operation) -> Difference | None:
    """Return that words were erased from the row of a call, so that the call cannot be run again as it was."""
    erasures = (operation.config or {}).get(ERASED)
    return _erased(f"the row of the call, by {', '.join(erasures)}") if erasures else None


async def find_erased_revision(database: Database, access: Access, operation: Operation) -> Difference | None:
    """Return a revision of the scopes that a call saw of which words were erased, None if there is none."""
    found = await _revisions(database, access, operation, "upkeep/revision_erased")
    return _erased(found[0][0]) if found else None


def _erased(where: str) -> Difference:
    return Difference(what="erased", where=where, logged="a text", now=None)


async def _revisions(
    database: Database, access: Access, operation: Operation, statement: str
) -> list[tuple[str, dict[str, Any]]]:
    """Return the revisions that a statement finds among those that a call may have seen, with their names."""
    seen: dict[str, int] = {}  # the newest change of each mount
    for state in states(operation):
        seen |= {mount: max(rev, seen.get(mount, 0)) for mount, rev in state.items()}
    scopes = {scope.scope_id: scope for scope in access.scopes if scope.mount in seen}
    async with database.transaction(access, snapshot=True) as connection:
        found = await rows(
            connection,
            statement,
            scope_ids=list(scopes),
            revs=[seen[scope.mount] for scope in scopes.values()],
        )
    return [(f"{scopes[row['scope_id']].virtual(row['path'])}@{row['version']}", row) for row in found]


def name_of(operation: Operation) -> str:
    """Return what a report calls an operation inside a call."""
    if operation.kind == MODEL_REQUEST:
        return f"operation {operation.ordinal}, model request ({operation.request.get('mode', '?')})"
    return f"operation {operation.ordinal}, {operation.kind}"


def _damage(what: str, where: str, logged: bytes | None, now: bytes) -> Iterator[Difference]:
    """Yield that a digest is another one now than in the log, if the log has it."""
    if logged is not None and logged != now:
        yield Difference(what=what, where=f"{where} (SHA-256)", logged=logged.hex(), now=now.hex())
