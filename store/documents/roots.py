"""Roots of documents: who may change one, and the syncs by which a client makes one equal to its folder.

A sync compares the whole folder with what is stored, page by page (`compare`). It sends what is wanted
(`memex.store.documents.put`), and removes at its end what the pages lacked (`finish`). Nothing of a sync is held
anywhere but in the rows, so that the next one goes on where one was interrupted.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from memex.errors import DocumentNotFound, Forbidden, MostlyGone, SyncInProgress, SyncSuperseded
from memex.store.access import Access, Scope
from memex.store.database import Connection, Database, row, rows
from memex.store.documents.records import DocumentRoot, ListedFile, ManifestComparison, WantedFile
from memex.store.documents.remove import RemovedDocuments, remove_some
from memex.store.sql import sql

SYNC_PATIENCE = timedelta(
    seconds=60
)  # after which a sync of which nothing is heard may be followed by another


async def compare(
    database: Database,
    access: Access,
    scope: Scope,
    name: str,
    files: Sequence[ListedFile],
    *,
    now: datetime,
    client: str = "",
    sync: int | None = None,
    after: str | None = None,
    until: str | None = None,
) -> ManifestComparison:
    """Return how a page of a folder's files differs from what is stored, and note what the page lacks.

    The root is made if there is none, and a sync is begun if none is named. The files ascend by path; the page
    holds the paths behind `after`, to `until`, and without these from the first to the last.

    Raises:
        Forbidden: another user owns the root.
        SyncInProgress: another client is syncing the root.
        SyncSuperseded: a later sync has begun.
    """
    narrowed = access.limited_to((scope,))
    async with database.transaction(narrowed) as connection:
        found = await open_root(connection, access, scope, name)
        if sync is None:
            sync = await _begin(connection, found, client, now)
        else:
            await check_sync(connection, found, sync, now)
        place = {"scope_id": scope.scope_id, "root_no": found["root_no"]}
        page = await row(
            connection,
            "documents/manifest_compare",
            **place,
            paths=[file.path for file in files],
            sha256s=[file.sha256 for file in files],
            after=after or "",
            until=until,
        )
        assert page is not None  # noqa: S101  # always one row
        if page["gone"] or page["found_again"]:
            await connection.execute(
                sql("documents/manifest_mark"),
                {
                    "scope_id": scope.scope_id,
                    "sync": sync,
                    "gone": [document_id for document_id, _ in page["gone"]],
                    "found_again": page["found_again"],
                },
            )
    return ManifestComparison(
        sync=sync,
        wanted=tuple(WantedFile(path, tuple(same_as)) for path, same_as in page["wanted"]),
        gone=tuple(path for _, path in page["gone"]),
        unchanged=page["unchanged"],
        stored=found["documents"],
    )


async def finish(
    database: Database,
    access: Access,
    scope: Scope,
    name: str,
    sync: int,
    *,
    now: datetime,
    prune: bool = False,
    left_out: Mapping[str, int],
    examples: Sequence[Mapping[str, Any]] = (),
    patterns: Sequence[str] | None = None,
) -> tuple[RemovedDocuments, DocumentRoot]:
    """Remove some of the documents that a sync lacked; without any left, say that the root is complete.

    With `prune` they are removed also if more than half of the documents are gone. `left_out` counts the files
    that the client left out, by reason, and `examples` are some; without `patterns` those stay that the client
    named before.

    Raises:
        DocumentNotFound: there is no such root.
        Forbidden: another user owns the root.
        SyncSuperseded: a later sync has begun.
        MostlyGone: more than half of the documents are gone.
    """
    narrowed = access.limited_to((scope,))
    async with database.transaction(narrowed) as connection:
        found = await own_root(connection, access, scope, name)
        await check_sync(connection, found, sync, now)
        place = {"scope_id": scope.scope_id, "root_no": found["root_no"]}
        counted = await row(connection, "documents/missed_count", **place, sync=sync)
        gone = counted["gone"] if counted else 0
        check_gone(name, gone, found["documents"], prune=prune)
    removal = await remove_some(database, access, scope, name, sync=sync)
    async with database.transaction(narrowed) as connection:
        found = await own_root(connection, access, scope, name)
        await check_sync(connection, found, sync, now)
        if not removal.remaining:
            await connection.execute(
                sql("documents/root_finish"),
                place
                | {
                    "now": now,
                    "patterns": None if patterns is None else list(patterns),
                    "left_out": json.dumps(dict(left_out)),
                    "examples": json.dumps([dict(example) for example in examples]),
                },
            )
        shown = await row(connection, "documents/root_show", scope_id=scope.scope_id, name=name)
        assert shown is not None  # noqa: S101  # its lock is held
    return removal, root_of(shown, scope)


async def remove_root(
    database: Database, access: Access, scope: Scope, name: str, *, is_dry_run: bool = False
) -> RemovedDocuments:
    """Remove a root with all its documents, and return how many went, or would go.

    A removal that was interrupted leaves the root as `removing`, and the next one ends it.

    Raises:
        DocumentNotFound: there is no such root.
        Forbidden: another user owns the root.
        SyncSuperseded: a sync of the root began meanwhile.
    """
    narrowed = access.limited_to((scope,))
    async with database.transaction(narrowed) as connection:
        found = await own_root(connection, access, scope, name)
        if is_dry_run:
            return RemovedDocuments(found["documents"], found["passages"])
        place = {"scope_id": scope.scope_id, "root_no": found["root_no"]}
        await connection.execute(sql("documents/root_removing"), place)
    documents = passages = 0
    while (some := await remove_some(database, access, scope, name, sync=None)).documents:
        documents += some.documents
        passages += some.passages
    async with database.transaction(narrowed) as connection:
        await connection.execute(sql("documents/root_remove"), place)
    return RemovedDocuments(documents, passages)


def check_gone(name: str, gone: int, stored: int, *, prune: bool) -> None:
    """Raise MostlyGone if more than half of a root would go at once, unless that is meant."""
    if 2 * gone > stored and not prune:
        raise MostlyGone(
            f"{gone:,} of the {stored:,} documents of {name} are gone: nothing was removed.",
            gone=gone,
            stored=stored,
        )


async def list_roots(connection: Connection, scopes: Sequence[Scope]) -> list[DocumentRoot]:
    """Return the roots of some scopes of documents, by name."""
    by_id = {scope.scope_id: scope for scope in scopes}
    read = await rows(connection, "documents/root_list", scope_ids=list(by_id))
    return [root_of(record, by_id[record["scope_id"]]) for record in read]


async def open_root(connection: Connection, access: Access, scope: Scope, name: str) -> dict[str, Any]:
    """Return a root with its lock; make it, the caller's own, if there is none.

    Raises:
        Forbidden: another user owns the root.
    """
    place = {"scope_id": scope.scope_id, "name": name}
    if await row(connection, "documents/root_show", **place) is None:
        await connection.execute(
            sql("documents/root_add"),
            place | {"tenant_id": access.tenant_id, "owner": access.user_id or ""},
        )
    return await own_root(connection, access, scope, name)


async def own_root(connection: Connection, access: Access, scope: Scope, name: str) -> dict[str, Any]:
    """Return a root that the caller may change, with its lock.

    Raises:
        DocumentNotFound: there is no such root.
        Forbidden: another user owns the root.
    """
    place = {"scope_id": scope.scope_id, "name": name}
    shown = await row(connection, "documents/root_show", **place)
    check_owner(access, shown, name)
    found = await row(connection, "documents/root_lock", **place)
    if found is None:
        raise not_found(name)
    return found


def check_owner(access: Access, shown: Mapping[str, Any] | None, name: str) -> None:
    """Raise DocumentNotFound if there is no root, and Forbidden if the caller may not change it."""
    if shown is None:
        raise not_found(name)
    if not may_change(access, shown["owner"]):
        raise Forbidden(
            f"Another user pushes the root {name!r}.",
            hint="Push your folder under another name, or ask its owner or an administrator to remove the root.",
        )


def may_change(access: Access, owner: str) -> bool:
    """Return whether a caller may change the root of an owner."""
    return access.role == "admin" or (owner != "" and owner == access.user_id)


def not_found(name: str) -> DocumentNotFound:
    """Return the error for a root that is not there."""
    return DocumentNotFound(
        f"There is no root {name!r} of documents here.", hint="List the roots with GET /v1/documents/roots."
    )


async def check_sync(
    connection: Connection, found: Mapping[str, Any], sync: int | None, now: datetime
) -> None:
    """Note that a sync was heard of; raises SyncSuperseded if it is not the newest, or the root is removed."""
    if found["state"] == "removing":
        raise SyncSuperseded(f"The root {found['name']!r} is being removed. A new sync would push it again.")
    if found["sync"] != sync:
        raise SyncSuperseded(f"The sync {sync} of {found['name']!r} is over: another one has begun since.")
    await connection.execute(
        sql("documents/root_heard"),
        {"scope_id": found["scope_id"], "root_no": found["root_no"], "now": now},
    )


async def _begin(connection: Connection, found: Mapping[str, Any], client: str, now: datetime) -> int:
    heard_at = found["heard_at"]
    is_under_way = found["state"] == "syncing" and heard_at is not None and now - heard_at < SYNC_PATIENCE
    if is_under_way and found["client"] != client:
        raise SyncInProgress(
            f"Another client is syncing {found['name']!r}.",
            retry_after_s=max(1, round((heard_at + SYNC_PATIENCE - now).total_seconds())),
        )
    begun = await row(
        connection,
        "documents/root_begin",
        scope_id=found["scope_id"],
        root_no=found["root_no"],
        client=client,
        now=now,
    )
    assert begun is not None  # noqa: S101  # its lock is held
    number: int = begun["sync"]
    return number


def root_of(record: Mapping[str, Any], scope: Scope) -> DocumentRoot:
    """Return a root from its row."""
    own: dict[str, Any] = {name: tuple(record[name]) for name in ("patterns", "examples")}
    own["mount"] = scope.mount
    names = DocumentRoot.__dataclass_fields__
    return DocumentRoot(**own, **{name: record[name] for name in names if name not in own})
