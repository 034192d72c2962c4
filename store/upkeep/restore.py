"""Scopes as revisions alone, and put anew from them: in another tenant, on another server.

What is derived is made from the texts by the code of a write, so that a restored scope answers as the one that it
was taken from did, at each of the moments that it was taken for.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, TypeVar

from memex.errors import UnknownMount
from memex.store.access import Access, Scope
from memex.store.database import Connection, Database, row, rows
from memex.store.paths import parse
from memex.store.records import check_text
from memex.store.search.index import FileIndex, deleted_file_index, describe_file
from memex.store.sql import sql
from memex.store.text_pool import offload
from memex.store.text_pool.portions import portions
from memex.store.upkeep import reindex
from memex.store.upkeep.restored_lines import (
    StoredLine,
    StoredRepeat,
    StoredRival,
    StoredTombstone,
    put_lines,
    read_repeats,
    read_rivals,
    read_statements,
    read_tombstones,
)

BATCH_CHARS = 512 * 1024  # of texts that are stored together; a longer one comes alone
BATCH_REVISIONS = 1_000

ScopeRevs = Mapping[str, int]

_KINDS = {"user": "user", "shared": "shared"}


@dataclass(frozen=True, slots=True)
class StoredRevision:
    """One version of a file, without what is derived of its path and text. `path` is relative to its scope.

    `sha256` is the digest that was stored of its text, by which damage is known; None takes that of the text.
    `origin`, `said_at` and `about` are known of journal entries alone.
    """

    file_id: int
    version: int
    rev: int
    rev_end: int | None
    path: str
    content: str
    operation: str
    deleted: bool
    counterpart: str | None
    reason: str | None
    actor: str | None
    channel: str
    tool_call_id: str
    created_at: datetime
    sha256: bytes | None = None
    origin: str | None = None
    said_at: datetime | None = None
    about: str | None = None
    valid: str | None = None


@dataclass(frozen=True, slots=True)
class StoredScope:
    """A scope as it stood after its change `rev`, with what it needs to be read as it stood before.

    Attributes:
        mount: user, shared or projects/<slug>.
        key: the user's id, the project's slug, or empty.
        rev: the number of its last change.
        revisions: each with the numbers that it had, in their order.
        statements: what became of lines of its pages.
        repeats: when texts of its journal were told again.
        rivals: which statements contradict older ones.
        tombstones: what was forgotten and replaced.
    """

    mount: str
    key: str
    language: str
    rev: int
    revisions: tuple[StoredRevision, ...]
    members: tuple[str, ...] = ()
    statements: tuple[StoredLine, ...] = ()
    repeats: tuple[StoredRepeat, ...] = ()
    rivals: tuple[StoredRival, ...] = ()
    tombstones: tuple[StoredTombstone, ...] = ()

    def at(self, rev: int) -> "StoredScope":
        """Return the scope as it stood after an earlier change, one of those that it was taken for."""
        then, known = _at(self.revisions, rev), _at(self.statements, rev)
        rivals, tombstones = _at(self.rivals, rev), _at(self.tombstones, rev)
        return replace(
            self,
            rev=min(rev, self.rev),
            revisions=then,
            statements=known,
            rivals=rivals,
            tombstones=tombstones,
        )


Versioned = TypeVar("Versioned", StoredRevision, StoredLine, StoredRival, StoredTombstone)


def _at(rows: Iterable[Versioned], rev: int) -> tuple[Versioned, ...]:
    """Return the rows that there were after a change; what ended later is open."""
    return tuple(
        replace(versioned, rev_end=None)
        if versioned.rev_end is not None and versioned.rev_end > rev
        else versioned
        for versioned in rows
        if versioned.rev <= rev
    )


async def read_scopes(
    connection: Connection, access: Access, states: Iterable[ScopeRevs], *, also: Iterable[str] = ()
) -> list[StoredScope]:
    """Return the scopes that states name, with the revisions that stood at any of them, in the order of `access`.

    Deletions stand too, and the highest version at each path, so that the next one gets the number that it got. An
    interval that ends after the last state is left open. Of a project's members the caller's user alone is named.

    `states` have the number of changes by mount. `also` names more revisions, as `path@version`; what came after
    the last state is left out, and what is no memory.

    Raises:
        ProjectNotFound: a state names a project that the caller may not read.
        ValidationFailed: or user/, where the caller names no user.
    """
    moments: dict[Scope, set[int]] = {}
    for state in states:
        for mount, rev in state.items():
            moments.setdefault(access.scope_at(mount), set()).add(rev)
    more: dict[Scope, list[tuple[str, int]]] = {}
    for reference in also:
        path, _, version = reference.rpartition("@")
        try:
            parsed = parse(path)
        except UnknownMount:  # what is no memory, such as a message of a conversation
            continue
        if scope := access.by_mount.get(parsed.mount_name):
            more.setdefault(scope, []).append((parsed.relative, int(version)))
    return [
        await _read_scope(connection, access, scope, sorted(moments[scope]), more.get(scope, []))
        for scope in access.scopes
        if scope in moments
    ]


async def restore(database: Database, tenant_id: int, scopes: Sequence[StoredScope]) -> None:
    """Make scopes in a tenant that has none of them yet, with their index.

    What fails on the way leaves what was made until then. Several scopes may be users'.

    Raises:
        UniqueViolation: a scope is there already.
        ValidationFailed: there is no such language.
    """
    made: list[tuple[int, StoredScope]] = []
    for scope in scopes:
        reindex.check_language(scope.language)
        async with database.maintenance() as connection:
            scope_id = await _make(connection, tenant_id, scope)
            for part in portions(
                scope.revisions, lambda revision: len(revision.content), BATCH_CHARS, BATCH_REVISIONS
            ):
                columns = await offload.run_in_thread(
                    sum(len(revision.content) for revision in part), _columns, part
                )
                place = {"scope_id": scope_id, "tenant_id": tenant_id}
                await connection.execute(sql("upkeep/restore_revisions"), place | columns)
        await reindex.rebuild(database, scope_id)
        made.append((scope_id, scope))
    async with database.maintenance() as connection:
        for scope_id, scope in made:
            known: dict[str, Sequence[Any]] = {
                "statements": scope.statements,
                "repeats": scope.repeats,
                "rivals": scope.rivals,
                "tombstones": scope.tombstones,
            }
            await put_lines(connection, tenant_id, scope_id, known)


async def _read_scope(
    connection: Connection,
    access: Access,
    scope: Scope,
    revs: Sequence[int],
    also: Sequence[tuple[str, int]],
) -> StoredScope:
    last = revs[-1]
    found = await rows(
        connection,
        "upkeep/restore_standing",
        scope_id=scope.scope_id,
        revs=revs,
        last_rev=last,
        paths=[path for path, _ in also],
        versions=[version for _, version in also],
    )
    is_users = scope.mount == "user"
    for record in found:
        check_text(f"{scope.virtual(record['path'])}@{record['version']}", record.pop("thinned"))
    revisions = tuple(StoredRevision(**record) for record in found)
    statements = await read_statements(
        connection,
        scope.scope_id,
        sorted({revision.file_id for revision in revisions}),
        last_rev=last,
        user_id=access.user_id,
    )
    told = sorted({revision.path for revision in revisions if revision.origin is not None})
    return StoredScope(
        mount=scope.mount,
        key=(access.user_id or "") if is_users else scope.mount.removeprefix("projects/") * scope.is_project,
        language=scope.language,
        rev=last,
        revisions=revisions,
        members=(access.user_id,) if scope.is_project and access.user_id is not None else (),
        statements=tuple(statements),
        rivals=tuple(await read_rivals(connection, scope.scope_id, last_rev=last, user_id=access.user_id)),
        tombstones=tuple(await read_tombstones(connection, scope.scope_id, last_rev=last)),
        repeats=tuple(await read_repeats(connection, scope.scope_id, told)) if told else (),
    )


async def _make(connection: Connection, tenant_id: int, scope: StoredScope) -> int:
    made = await row(
        connection,
        "upkeep/restore_scope",
        tenant_id=tenant_id,
        kind=_KINDS.get(scope.mount, "project"),
        key=scope.key,
        language=scope.language,
        rev=scope.rev,
        last_at=max((revision.created_at for revision in scope.revisions), default=None),
        next_file_id=1 + max((revision.file_id for revision in scope.revisions), default=0),
    )
    assert made is not None  # noqa: S101  # an insert that returns its row
    scope_id: int = made["scope_id"]
    for user_id in scope.members:
        await row(
            connection, "identity/project_member_add", tenant_id=tenant_id, scope_id=scope_id, user_id=user_id
        )
    return scope_id


def _columns(part: Sequence[StoredRevision]) -> dict[str, Any]:
    """Return revisions as `upkeep/restore_revisions` takes them, with what lists know of each."""
    derived = [_derive_index(revision) for revision in part]
    columns = {
        f"{field.name}s": [getattr(revision, field.name) for revision in part]
        for field in fields(StoredRevision)
    }
    sizes = {"size_chars": [len(revision.content) for revision in part]}
    return columns | sizes | reindex.described_columns(derived)


def _derive_index(revision: StoredRevision) -> FileIndex:
    if revision.deleted:
        return deleted_file_index(revision.path, ())
    return describe_file(revision.path, revision.content)
