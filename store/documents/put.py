"""Store files as a client sends them: each whole, with its index, and all of a request or none.

What takes long is done before the lock of the scope is taken: texts are cut and analysed against what was stored
then. If a document turns out to be another one under the lock, that is done again there.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memex.errors import LimitExceeded
from memex.store.access import Access, Scope
from memex.store.database import Connection, Database, Rows, batch, rows
from memex.store.documents.indexing import DocumentToIndex, index_documents
from memex.store.documents.records import (
    DocumentChange,
    DocumentKind,
    DocumentLimits,
    NewDocument,
    StoredDocument,
    kind_of,
)
from memex.store.documents.remove import check_space, stored_chunks
from memex.store.documents.roots import check_gone, check_owner, check_sync, open_root
from memex.store.search.analyzer import analyzer_of
from memex.store.search.index import FileIndex, StoredChunk, index_version
from memex.store.sql import sql
from memex.store.text_pool import offload
from memex.store.writes import pending
from memex.store.writes.commit import DerivedRows, write_derived

MAX_FILES = 1_000  # of a request
MAX_RENAMED_BYTES = 16 << 20  # of texts that are read to rename files in one request; others are wanted
TEXT_WANTED = ("TEXT_WANTED", "No such text is stored under the old path: send the text.")

_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class PutDocuments:
    """The outcomes for the files of a request, in their order; `stored` counts the documents of the root."""

    files: tuple[StoredDocument, ...]
    stored: int
    passages_added: int


@dataclass(frozen=True, slots=True)
class _Known:
    """A document as it is stored, without its text."""

    document_id: int
    path: str
    version: int
    sha256: bytes
    kind: DocumentKind
    given_tags: tuple[str, ...]
    size_bytes: int
    passages: int

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> "_Known":
        """Return a document from its row."""
        given = {"sha256": bytes(record["sha256"]), "given_tags": tuple(record["given_tags"])}
        return cls(**(dict(record) | given))


@dataclass(frozen=True, slots=True)
class _Step:
    """The work to do for one file.

    Attributes:
        gone: a document that goes: this one, or the one that stands where it is renamed to.
    """

    file: NewDocument
    change: DocumentChange
    before: _Known | None = None
    gone: _Known | None = None
    refusal: tuple[str, str] | None = None

    @property
    def tags(self) -> tuple[str, ...]:
        """The client's tags: those that it gives, else those that are stored."""
        if self.file.tags is not None:
            return self.file.tags
        return self.before.given_tags if self.before else ()

    @property
    def is_written(self) -> bool:
        """Return whether the document is there afterwards, with another text, path or tags than before."""
        return self.change in ("created", "changed", "renamed")

    @property
    def is_growing(self) -> bool:
        """Return whether the step adds a text that was not there."""
        return self.change in ("created", "changed")

    @property
    def key(self) -> tuple[str, int | None, int | None]:
        """By what an index that was made before is known again."""
        before = self.before
        return (
            (self.file.path, before.document_id, before.version) if before else (self.file.path, None, None)
        )


_Plan = Sequence[_Step]  # in the order of the files
_Indexed = dict[tuple[str, int | None, int | None], FileIndex | tuple[str, str]]


async def put_documents(
    database: Database,
    access: Access,
    scope: Scope,
    name: str,
    files: Sequence[NewDocument],
    *,
    now: datetime,
    limits: DocumentLimits,
    sync: int | None = None,
    prune: bool = False,
) -> PutDocuments:
    """Store files of a root in one transaction; a second time changes nothing.

    The root is made if there is none. The files, at most `MAX_FILES`, are of different paths, and belong to a
    `sync`, or to none between two. With `prune` they are stored also if more than half of the documents are said
    to be gone.

    Raises:
        Forbidden: another user owns the root.
        SyncSuperseded: a later sync has begun.
        MostlyGone: more than half of the documents are said to be gone.
        LimitExceeded: there would be too many documents, or texts.
        DiskLow: the database has no space for that.
    """
    narrowed = access.limited_to((scope,))
    place = {"scope_id": scope.scope_id, "name": name}
    paths = list(dict.fromkeys(path for file in files for path in (file.path, file.renamed_from) if path))
    known_statement = ("documents/document_known", place | {"paths": paths})
    made_statement = ("documents/scope_made", {"scope_id": scope.scope_id})
    async with database.transaction(narrowed, snapshot=True) as connection:
        shown, held, [made] = await batch(
            connection, ("documents/root_show", place), known_statement, made_statement
        )
        if shown:
            check_owner(access, shown[0], name)
        known = _known(held)
        plan = _plan(files, known)
        check_space(database.space, is_growing=any(step.is_growing for step in plan))
        chunks = await _chunks(connection, scope, plan)
        texts = await _texts(connection, scope, plan)
    indexed = await _index(plan, chunks, texts, made["language"])
    statements = (
        ("writes/scope_lock", {"scope_ids": [scope.scope_id]}),
        ("documents/stat_lock", {"scope_id": scope.scope_id}),
        made_statement,
        known_statement,
    )
    async with database.writing(narrowed, *statements, scope_ids=[scope.scope_id]) as (connection, read):
        counter = pending.counter_of(read[0], scope.scope_id)
        root = await open_root(connection, access, scope, name)
        if sync is not None or root["state"] == "removing":
            await check_sync(connection, root, sync, now)
        if _known(read[3]) != known or read[2][0] != made:  # another request, or a rebuild, came between
            plan = _plan(files, _known(read[3]))
            chunks = await _chunks(connection, scope, plan)
            texts = await _texts(connection, scope, plan)
            indexed = _index_here(
                plan, chunks, texts, read[2][0]["language"], indexed if read[2][0] == made else {}
            )
        plan = _settled(plan, indexed)
        check_gone(name, sum(step.change == "removed" for step in plan), root["documents"], prune=prune)
        change, derived = _Change(scope, root, now, read[1][0]["next_version"]), DerivedRows()
        for step in plan:
            if step.gone is not None:
                change.remove(step.gone)
                gone = FileIndex(removed=tuple(chunks.get(step.gone.document_id, ())))
                derived.add(gone, counter, step.gone.document_id, is_known=False)
        for step in plan:
            index = indexed.get(step.key) if step.is_written else None
            if isinstance(index, FileIndex):
                document_id = step.before.document_id if step.before else counter.take_file_id()
                change.write(step, document_id, index)
                derived.add(index, counter, document_id, is_known=False)
        change.check(read[1][0], limits)
        await _store(connection, access.tenant_id, change, derived, counter)
        made_by = index_version(analyzer_of(read[2][0]["language"]))
        await connection.execute(
            sql("writes/scope_analyzed"), {"scope_id": scope.scope_id, "analyzer": made_by}
        )
    outcome = tuple(StoredDocument(step.file.path, step.change, step.refusal) for step in plan)
    return PutDocuments(outcome, root["documents"] + change.documents, len(derived.chunks))


async def _store(
    connection: Connection,
    tenant_id: int,
    change: "_Change",
    derived: DerivedRows,
    counter: pending.Counters,
) -> None:
    """Send the statements of a change; the locks of the scope and of the root are held."""
    await change.store(connection, tenant_id)
    await write_derived(connection, tenant_id, derived, [counter])
    if counter.unmerged > pending.BOUND or change.has_removed:  # what is gone is to stand nowhere
        await pending.merge(connection, counter)
        await pending.put(connection, [counter])


def _known(read: Rows) -> dict[str, _Known]:
    return {record["path"]: _Known.of(record) for record in read}


def _plan(files: Sequence[NewDocument], known: Mapping[str, _Known]) -> list[_Step]:
    """Return what is done for each file. Renames come first: the old path may get another text in this request."""
    steps = []
    renamed = _renamed(files, known)
    moved = {before.document_id for before in renamed.values()}
    for file in files:
        here = known.get(file.path)
        if here is not None and here.document_id in moved:
            here = None
        if file.path in renamed:
            step = _Step(file, "renamed", renamed[file.path], here)
        elif file.refusal is not None:
            step = _Step(file, "refused", here, here if file.drops else None, file.refusal)
        elif file.is_removed:
            step = _Step(file, "removed" if here else "unchanged", here, here)
        elif here is not None and _is_same(file, here):
            step = _Step(file, "unchanged", here)
        elif file.text is None:
            step = _Step(file, "refused", here, refusal=TEXT_WANTED)
        else:
            step = _Step(file, "changed" if here else "created", here)
        steps.append(step)
    return steps


def _renamed(files: Sequence[NewDocument], known: Mapping[str, _Known]) -> dict[str, _Known]:
    """Return the documents that files are renamed from, by the new paths; each once, and not too much text."""
    found: dict[str, _Known] = {}
    size_bytes = 0
    for file in files:
        before = known.get(file.renamed_from) if file.renamed_from else None
        if before is None or before.sha256 != file.sha256 or before in found.values():
            continue
        size_bytes += before.size_bytes
        if size_bytes <= MAX_RENAMED_BYTES and before.path != file.path:
            found[file.path] = before
    return found


def _is_same(file: NewDocument, here: _Known) -> bool:
    has_tags = file.tags is None or file.tags == here.given_tags
    return file.sha256 == here.sha256 and here.kind == kind_of(file.path) and has_tags


async def _chunks(connection: Connection, scope: Scope, plan: _Plan) -> dict[int, tuple[StoredChunk, ...]]:
    """Return the stored chunks of the documents that change or go."""
    changing = [step.before.document_id for step in plan if step.before and step.is_written]
    document_ids = [*changing, *(step.gone.document_id for step in plan if step.gone)]
    if not document_ids:
        return {}
    return stored_chunks(
        await rows(connection, "documents/chunk_known", scope_id=scope.scope_id, document_ids=document_ids)
    )


async def _texts(connection: Connection, scope: Scope, plan: _Plan) -> dict[int, str]:
    """Return the texts of the documents that are renamed."""
    document_ids = [step.before.document_id for step in plan if step.change == "renamed" and step.before]
    if not document_ids:
        return {}
    read = await rows(
        connection, "documents/document_text", scope_id=scope.scope_id, document_ids=document_ids
    )
    return {record["document_id"]: record["text"] for record in read}


def _to_index(
    plan: _Plan, chunks: Mapping[int, tuple[StoredChunk, ...]], texts: Mapping[int, str]
) -> dict[tuple[str, int | None, int | None], DocumentToIndex]:
    found = {}
    for step in plan:
        text = step.file.text
        if step.change == "renamed" and step.before is not None:
            text = texts.get(step.before.document_id)
        if step.is_written and text is not None:
            stored = chunks.get(step.before.document_id, ()) if step.before else ()
            kind = kind_of(step.file.path)
            found[step.key] = DocumentToIndex(step.file.path, kind, text, step.tags, stored)
    return found


async def _index(
    plan: _Plan, chunks: Mapping[int, tuple[StoredChunk, ...]], texts: Mapping[int, str], language: str
) -> _Indexed:
    wanted = _to_index(plan, chunks, texts)
    chars = sum(len(wanted_text.text) for wanted_text in wanted.values())
    made = await offload.run(chars, index_documents, list(wanted.values()), language)
    return dict(zip(wanted, made, strict=True))


def _index_here(
    plan: _Plan,
    chunks: Mapping[int, tuple[StoredChunk, ...]],
    texts: Mapping[int, str],
    language: str,
    made_before: _Indexed,
) -> _Indexed:
    """Return the same under the lock, where nothing may wait for a process; most of it was made before."""
    wanted = _to_index(plan, chunks, texts)
    missing = {key: document for key, document in wanted.items() if key not in made_before}
    made = index_documents(list(missing.values()), language)
    return {key: made_before[key] for key in wanted if key in made_before} | dict(
        zip(missing, made, strict=True)
    )


def _settled(plan: _Plan, indexed: _Indexed) -> list[_Step]:
    """Return a plan in which files are refused of which no index could be made; what is stored of them stays."""
    refusals: dict[str, tuple[str, str]] = {}
    kept = set()  # paths that a refused rename would have made free
    for step in plan:
        index = indexed.get(step.key, TEXT_WANTED) if step.is_written else None
        if isinstance(index, tuple):
            refusals[step.file.path] = index
            if step.change == "renamed" and step.before is not None:
                kept.add(step.before.path)
    refusals |= {path: TEXT_WANTED for path in kept if path not in refusals}
    return [
        _Step(step.file, "refused", step.before, refusal=refusals[step.file.path])
        if step.is_written and step.file.path in refusals
        else step
        for step in plan
    ]


class _Change:
    """The rows of a request, and what they add to the counts of the root."""

    def __init__(self, scope: Scope, root: Mapping[str, Any], now: datetime, version: int) -> None:
        self._scope, self._root, self._now, self._version = scope, root, now, version
        self._written: list[dict[str, Any]] = []
        self._moved: list[int] = []
        self._removed: list[int] = []
        self.documents = self.text_bytes = self.passages = 0

    def remove(self, gone: _Known) -> None:
        """Take a document away."""
        self._removed.append(gone.document_id)
        self._count(-1, -gone.size_bytes, -gone.passages)

    @property
    def has_removed(self) -> bool:
        """Return whether the change removes a document."""
        return bool(self._removed)

    def write(self, step: _Step, document_id: int, index: FileIndex) -> None:
        """Put a document in the place of what is stored of it."""
        file, before = step.file, step.before
        size_bytes = before.size_bytes if before and file.text is None else len((file.text or "").encode())
        passages = (before.passages if before else 0) - len(index.removed) + len(index.added)
        if step.change == "renamed":
            self._moved.append(document_id)
        self._count(
            0 if before else 1,
            size_bytes - (before.size_bytes if before else 0),
            passages - (before.passages if before else 0),
        )
        self._written.append(
            {
                "document_id": document_id,
                "is_new": before is None,
                "path": file.path,
                "sha256": file.sha256.hex(),
                "kind": kind_of(file.path),
                "title": index.title,
                "tags": index.tags,
                "tag_keys": index.tag_keys,
                "given_tags": step.tags,
                "text": file.text,
                "size_bytes": size_bytes,
                "passages": passages,
                "changed_at": file.changed_at and file.changed_at.isoformat(),
            }
        )

    def check(self, stat: Mapping[str, Any], limits: DocumentLimits) -> None:
        """Raise LimitExceeded if there would be too much."""
        documents, text_bytes = stat["documents"] + self.documents, stat["text_bytes"] + self.text_bytes
        if self.documents > 0 and documents > limits.documents:
            raise LimitExceeded(
                f"With these files there would be {documents:,} documents, over {limits.documents:,}.",
                hint="Push fewer files, or raise MEMEX_MAX_DOCUMENTS.",
            )
        if self.text_bytes > 0 and text_bytes > limits.text_bytes:
            raise LimitExceeded(
                f"With these files the documents would have {text_bytes:,} bytes, over {limits.text_bytes:,}.",
                hint="Push fewer files, or raise MEMEX_MAX_DOCUMENT_BYTES.",
            )

    async def store(self, connection: Connection, tenant_id: int) -> None:
        """Send the statements; the locks are held."""
        scope = {"scope_id": self._scope.scope_id}
        root = {"root_no": self._root["root_no"]}
        if self._removed or self._moved:
            await connection.execute(
                sql("documents/document_clear"), scope | {"removed": self._removed, "moved": self._moved}
            )
        if self._written:
            await connection.execute(
                sql("documents/document_write"),
                scope
                | root
                | {
                    "tenant_id": tenant_id,
                    "owner": self._root["owner"],
                    "version": self._version,
                    "now": self._now,
                    "written": _encode(self._written),
                },
            )
        if self._removed or self._written:
            counts = {"documents": self.documents, "text_bytes": self.text_bytes, "passages": self.passages}
            await connection.execute(sql("documents/stat_add"), scope | root | counts)

    def _count(self, documents: int, text_bytes: int, passages: int) -> None:
        self.documents += documents
        self.text_bytes += text_bytes
        self.passages += passages
