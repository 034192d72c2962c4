"""The index of a scope, made anew from the text of its files or messages: after an upgrade, or in another language.

Everything that is derived goes and comes in one transaction, under the lock that writers take. Readers see the
index of before until it is committed, and wait for nothing; what stops it on the way leaves that index as it was.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from memex.errors import ValidationFailed
from memex.store.conversations.reindex import derive_messages
from memex.store.database import Connection, Database, Rows, row, rows
from memex.store.documents.reindex import derive_documents
from memex.store.identity.authentication import DOCUMENTS
from memex.store.search import vectors
from memex.store.search.analyzer import LANGUAGES, Analyzer, analyzer_of
from memex.store.search.index import FileIndex, index, index_version
from memex.store.sql import sql
from memex.store.text_pool import offload
from memex.store.writes import pending
from memex.store.writes.commit import SEPARATOR, DerivedRows, write_derived
from memex.store.writes.pending import Counters

BATCH_BYTES = 512 * 1024  # of texts that are analysed together; a longer file comes alone
BATCH_FILES = 500

Kind = Literal["user", "shared", "project", "conversations", "documents", "project_documents"]


@dataclass(frozen=True, slots=True)
class IndexedScope:
    """A scope, its language, and what made its index: None before its first write.

    `key` is the user's id, the project's slug, or empty. `files` counts messages of conversations, and documents.
    """

    scope_id: int
    tenant: str
    kind: Kind
    key: str
    language: str
    analyzer: str | None
    files: int


@dataclass(frozen=True, slots=True)
class RebuildReport:
    """Counts of a scope's index after it was made anew. `files` counts the messages of conversations."""

    language: str
    files: int
    chunks: int


@dataclass(frozen=True, slots=True)
class _DerivedFile:
    """A file, and the index that is derived from it."""

    file_id: int
    size_chars: int
    is_entry: bool
    index: FileIndex


def check_language(language: str) -> str:
    """Return the name of a language that files can be in.

    Raises:
        ValidationFailed: there is no such language; the hint lists them.
    """
    if language not in LANGUAGES:
        raise ValidationFailed(
            f"There is no language {language!r}.", hint=f"There are: {', '.join(LANGUAGES)}."
        )
    return language


def is_stale(language: str, analyzer: str | None, wanted: str | None = None) -> bool:
    """Return whether an index is another than would be made now, in the `wanted` language where that is given."""
    wanted = wanted or language
    return language != wanted or analyzer not in (None, index_version(analyzer_of(wanted)))


async def count_stale(connection: Connection) -> int:
    """Return how many scopes have an index that another version made. For maintenance."""
    found = await rows(connection, "upkeep/reindex_engines")
    return sum(made["scopes"] for made in found if is_stale(made["language"], made["analyzer"]))


async def scopes(
    connection: Connection,
    *,
    tenant: str | None = None,
    kind: Kind | None = None,
    key: str | None = None,
    only_stale: bool = False,
    language: str | None = None,
    limit: int | None = None,
) -> list[IndexedScope]:
    """Return scopes with what made the index of each, by tenant, kind and key. For maintenance.

    None of `tenant`, `kind` and `key` (the user's id or the project's slug) means all. With `only_stale`, those
    are returned of which a rebuild in `language`, by default that of the scope, would make another index.
    """
    pairs: dict[str, list[str | None] | None] = {"languages": None, "analyzers": None}
    if only_stale:
        found = await rows(connection, "upkeep/reindex_engines")
        stale = [made for made in found if is_stale(made["language"], made["analyzer"], language)]
        pairs = {f"{name}s": [made[name] for made in stale] for name in ("language", "analyzer")}
    chosen = await rows(
        connection, "upkeep/reindex_scopes", tenant=tenant, kind=kind, key=key, limit=limit, **pairs
    )
    return [IndexedScope(**record) for record in chosen]


async def rebuild(
    database: Database,
    scope_id: int,
    *,
    language: str | None = None,
    only_stale: bool = False,
    on_files: Callable[[int], None] = lambda _: None,
) -> RebuildReport | None:
    """Make the index of a scope anew from its files or messages; None where there was nothing to do.

    Revisions and their texts stay as they are. Writers of the scope wait until the end; chunks get new ids, so that
    a write that was planned before is planned again. Texts that have no vector any more are embedded by a job.

    The scope may have been removed meanwhile. `language` is that of its files from now on. With `only_stale` it
    is left alone if it is as it would become, such as after another process did this.
    """
    async with database.maintenance() as connection:
        counter = (await pending.lock(connection, [scope_id])).get(scope_id)
        scope = await row(connection, "upkeep/reindex_scope", scope_id=scope_id)
        if counter is None or scope is None:
            return None
        if only_stale and not is_stale(scope["language"], scope["analyzer"], language):
            return None
        language = language or scope["language"]
        await _clear(connection, counter)
        files = 0
        if scope["kind"] == "conversations":
            async for messages in derive_messages(connection, scope_id, language):
                await _add_messages(connection, counter, messages)
                files += len(messages)
                on_files(len(messages))
            await connection.execute(sql("upkeep/reindex_ranges"), {"scope_id": scope_id})
        elif scope["kind"] in DOCUMENTS:
            async for documents in derive_documents(connection, scope_id, language):
                await _add_documents(connection, counter, documents)
                files += len(documents)
                on_files(len(documents))
            await connection.execute(sql("documents/reindex_count"), {"scope_id": scope_id})
        else:
            counter.has_series = True  # files may be short by the lexemes of now
            async for batch in _derive_batches(connection, scope_id, analyzer_of(language)):
                await _add(connection, counter, batch)
                files += len(batch)
                on_files(len(batch))
        await pending.merge(connection, counter)
        await pending.put(connection, [counter])
        made = {"language": language, "analyzer": index_version(analyzer_of(language))}
        await connection.execute(sql("upkeep/reindex_done"), {"scope_id": scope_id} | made)
        # Conversations are embedded only where that is wanted, which the sweep knows.
        is_embedded = scope["kind"] not in ("conversations", *DOCUMENTS)
        name = "upkeep/reindex_embeddings" if database.has_vectors else "upkeep/reindex_states"
        if is_embedded and await rows(connection, name, scope_id=scope_id):
            await vectors.defer(connection, [scope_id], has_vectors=database.has_vectors)
        return RebuildReport(language, files, counter.n)


async def _clear(connection: Connection, counter: Counters) -> None:
    """Take the old index away. Ids of chunks go on behind its last."""
    await connection.execute(sql("upkeep/reindex_clear"), {"scope_id": counter.scope_id})
    counter.n = counter.total_length = counter.files = 0
    counter.merged_chunk_id = counter.next_chunk_id - 1


async def _derive_batches(
    connection: Connection, scope_id: int, analyzer: Analyzer
) -> AsyncIterator[Sequence[_DerivedFile]]:
    """Yield what is derived of a scope's files, in batches: the texts of a large scope are never held together."""
    for file_ids, size_bytes in _batches(await rows(connection, "upkeep/reindex_files", scope_id=scope_id)):
        files = await rows(connection, "upkeep/reindex_texts", scope_id=scope_id, file_ids=file_ids)
        yield await offload.run_in_thread(size_bytes, _derive_files, files, analyzer)


def _batches(files: Rows) -> Iterator[tuple[list[int], int]]:
    """Yield the ids of files that are read together, and how large they are together."""
    file_ids: list[int] = []
    size_bytes = 0
    for file in files:
        if file_ids and (len(file_ids) == BATCH_FILES or size_bytes + file["size_bytes"] > BATCH_BYTES):
            yield file_ids, size_bytes
            file_ids, size_bytes = [], 0
        file_ids.append(file["file_id"])
        size_bytes += file["size_bytes"]
    if file_ids:
        yield file_ids, size_bytes


def _derive_files(files: Rows, analyzer: Analyzer) -> list[_DerivedFile]:
    return [
        _DerivedFile(
            file["file_id"],
            len(file["content"]),
            file["is_entry"],
            index(file["path"], file["content"], [], analyzer),
        )
        for file in files
    ]


async def _add(connection: Connection, counter: Counters, files: Sequence[_DerivedFile]) -> None:
    heads = {
        "scope_id": counter.scope_id,
        "file_ids": [file.file_id for file in files],
        "size_chars": [file.size_chars for file in files],
    }
    heads |= described_columns([file.index for file in files])
    await connection.execute(sql("upkeep/reindex_heads"), heads)
    derived = DerivedRows()
    for file in files:
        derived.add(file.index, counter, file.file_id, is_known=False)
    counter.files += sum(not file.is_entry for file in files)
    await write_derived(connection, counter.tenant_id, derived, [counter])


async def _add_documents(
    connection: Connection, counter: Counters, documents: Sequence[tuple[int, FileIndex]]
) -> None:
    derived = DerivedRows()
    for document_id, file_index in documents:
        derived.add(file_index, counter, document_id, is_known=False)
    await write_derived(connection, counter.tenant_id, derived, [counter])


async def _add_messages(
    connection: Connection, counter: Counters, messages: Sequence[tuple[int, FileIndex]]
) -> None:
    derived = DerivedRows()
    for message_id, file_index in messages:
        derived.add(file_index, counter, message_id, is_known=False)
    await write_derived(connection, counter.tenant_id, derived, [counter], keeps_lexemes=False)
    await pending.merge(connection, counter, derived.postings())


def described_columns(derived: Sequence[FileIndex]) -> dict[str, object]:
    """Return what lists know of files, a column for each property."""
    return {
        "titles": [file_index.title for file_index in derived],
        "tags": [SEPARATOR.join(file_index.tags) for file_index in derived],
        "tag_keys": [SEPARATOR.join(file_index.tag_keys) for file_index in derived],
        "path_keys": [file_index.path_key for file_index in derived],
        "name_keys": [file_index.name_key for file_index in derived],
        "pinned": [file_index.pinned for file_index in derived],
        "dated": [file_index.dated for file_index in derived],
        "valid_days": [file_index.valid for file_index in derived],
    }
