"""Embed written texts: find chunks without vectors, send their texts to the embedder, store the vectors."""

import asyncio
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

import structlog

from memex.errors import MemexError, ModelUnavailable
from memex.service.search.embedded_texts import FileTexts, read_texts
from memex.store.conversations.vectors import missing_messages
from memex.store.database import Connection, Database
from memex.store.documents.vectors import missing_passages
from memex.store.log import operations
from memex.store.log.embedding_rate import texts_a_second
from memex.store.search import vectors
from memex.store.search.hybrid import late_interaction, statement_states, token_states
from memex.store.search.vectors import EmbeddingStart, UnembeddedFile
from memex.store.text_pool import offload
from memex.subagent.breaker import is_not_asked
from memex.subagent.embedders.interface import Embedder, embed_texts
from memex.subagent.embedders.names import LOCAL_MODELS
from memex.subagent.statements.places import STATEMENT_FILE_NAMES

BATCH_CHUNKS = 64
BESIDE_MEMORY = ("conversations", "documents", "project_documents")
BATCH_STATEMENTS = 256

_log = structlog.get_logger("memex.embedding")


@dataclass(frozen=True, slots=True)
class EmbeddingProgress:
    """The number of texts that a run sent to the embedder, and whether nothing was left at its end."""

    texts: int
    is_complete: bool


@dataclass(frozen=True, slots=True)
class EmbeddingEstimate:
    """The number of chunks without a vector, and how many texts the embedder took a second lately."""

    missing: int
    texts_a_second: float | None

    @property
    def seconds_left(self) -> int | None:
        """Seconds until all is embedded, by one worker; None if the embedder embedded nothing lately."""
        if not self.missing:
            return 0
        return None if self.texts_a_second is None else math.ceil(self.missing / self.texts_a_second)


async def estimate(database: Database, model: str, *, conversations: bool = False) -> EmbeddingEstimate:
    """Return how far a model is, and how long the rest will take."""
    async with database.maintenance() as connection:
        found = await vectors.status(
            connection, model, conversations=conversations, has_vectors=database.has_vectors
        )
        speed = await texts_a_second(connection, model)
    return EmbeddingEstimate(next((status.missing for status in found if status.model == model), 0), speed)


async def embed_scope(
    database: Database,
    embedder: Embedder,
    scope_id: int,
    *,
    max_texts: int | None = None,
    on_texts: Callable[[int], None] = lambda _: None,
    since: datetime | None = None,
) -> EmbeddingProgress:
    """Embed those texts of a scope that have no vector of the embedder's, and remove vectors whose texts are gone.

    No connection is held while the embedder works. Runs beside each other do no harm.

    Without vectors in the database, only token states are made. The scope may have been removed meanwhile. It
    ends after about `max_texts`; of conversations only messages since a time may be wanted, and the rest stays to
    be done.

    Raises:
        ModelUnavailable: the embedder does not answer; what was done stays, and the failure is noted.
        StoreUnavailable: the database went away.
    """
    async with database.maintenance() as connection:
        scope = await vectors.begin(connection, scope_id)
    if scope is None:
        return EmbeddingProgress(0, is_complete=True)
    try:
        done = await _embed_missing(database, embedder, scope, max_texts, on_texts, since)
    except Exception as error:
        if is_not_asked(error):
            raise
        with suppress(MemexError):
            async with database.maintenance() as connection:
                await vectors.fail(
                    connection,
                    scope_id,
                    embedder.name,
                    _reason(error),
                    has_vectors=database.has_vectors,
                )
        raise
    if done.is_complete:
        await _trim(database, scope_id)
    if done.is_complete and since is None:
        async with database.maintenance() as connection:
            await vectors.finish(
                connection, scope_id, embedder.name, scope.rev, has_vectors=database.has_vectors
            )
    return done


async def backfill(
    database: Database,
    embedder: Embedder,
    *,
    at_once: int = 1,
    on_texts: Callable[[int], None] = lambda _: None,
    scope_ids: Sequence[int] | None = None,
    since: datetime | None = None,
    conversations: bool = False,
) -> int:
    """Embed every text of every scope that has no vector of the embedder's, and return how many there were.

    Another embedder may serve meanwhile. Raises as `embed_scope`, at the first scope that fails.

    Without vectors in the database, only token states are made. `at_once` counts scopes; `conversations` adds
    users' conversations and documents, if no scopes are named. `since` is as for `embed_scope`.
    """
    if scope_ids is None:
        async with database.maintenance() as connection:
            waiting = await vectors.scopes(
                connection, conversations=conversations, has_vectors=database.has_vectors
            )
    else:
        waiting = list(scope_ids)
    done = 0

    async def work() -> None:
        nonlocal done
        while waiting:
            embedded = await embed_scope(database, embedder, waiting.pop(0), on_texts=on_texts, since=since)
            done += embedded.texts

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(work())
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return done


async def _embed_missing(
    database: Database,
    embedder: Embedder,
    scope: EmbeddingStart,
    max_texts: int | None,
    on_texts: Callable[[int], None],
    since: datetime | None,
) -> EmbeddingProgress:
    if scope.kind in BESIDE_MEMORY:
        return await _embed_passages(database, embedder, scope, max_texts, on_texts, since)
    after = sent = 0
    has_states = embedder.gives_states
    texts: dict[tuple[int, int], FileTexts] = {}
    while max_texts is None or sent < max_texts:
        async with database.maintenance() as connection:
            files, last = await vectors.missing(
                connection,
                scope.scope_id,
                embedder.name,
                after=after,
                limit=BATCH_CHUNKS,
                states=has_states,
                has_vectors=database.has_vectors,
            )
        if last is None:
            if has_states:
                await _embed_late_statements(database, embedder, scope)
            return EmbeddingProgress(sent, is_complete=True)
        after = last
        texts = await _texts(scope, files, texts)  # a long file is in several batches after each other
        sent_of = {
            f"{scope.mount}/{file.path}@{file.version}": texts[file.file_id, file.version].of(file.sha256s)
            for file in files
        }
        wanted = {sha256: text for of_file in sent_of.values() for sha256, text in of_file.texts.items()}
        if wanted:
            revisions = [revision for revision, of_file in sent_of.items() if of_file.texts]
            statements = [of_file.statements for of_file in sent_of.values()] if has_states else []
            await _embed(database, embedder, scope, wanted, revisions, statements)
            sent += len(wanted)
            on_texts(len(wanted))
    return EmbeddingProgress(sent, is_complete=False)


async def _embed_passages(
    database: Database,
    embedder: Embedder,
    scope: EmbeddingStart,
    max_texts: int | None,
    on_texts: Callable[[int], None],
    since: datetime | None,
) -> EmbeddingProgress:
    sent = 0
    while max_texts is None or sent < max_texts:
        async with database.maintenance() as connection:
            if scope.kind == "conversations":
                found = await missing_messages(
                    connection, scope.scope_id, embedder.name, limit=BATCH_CHUNKS, since=since
                )
            else:
                found = await missing_passages(connection, scope.scope_id, embedder.name, limit=BATCH_CHUNKS)
        if not found:
            return EmbeddingProgress(sent, is_complete=True)
        wanted = {passage.sha256: passage.text for passage in found}
        await _embed(
            database, embedder, scope, wanted, list(dict.fromkeys(passage.reference for passage in found))
        )
        sent += len(wanted)
        on_texts(len(wanted))
    return EmbeddingProgress(sent, is_complete=False)


async def _texts(
    scope: EmbeddingStart, files: list[UnembeddedFile], known: dict[tuple[int, int], FileTexts]
) -> dict[tuple[int, int], FileTexts]:
    """Return the texts of each file by their digests; what was known before is not made again."""
    found: dict[tuple[int, int], FileTexts] = {}
    for file in files:
        texts = known.get((file.file_id, file.version))
        if texts is None:
            texts = await offload.run_in_thread(
                len(file.content), read_texts, scope.mount, file.path, file.content
            )
        found[file.file_id, file.version] = texts
    return found


async def _embed_late_statements(database: Database, embedder: Embedder, scope: EmbeddingStart) -> None:
    """Store the states of statements whose passages were embedded before they stood in a file of statements."""
    after = 0
    texts: dict[tuple[int, int], FileTexts] = {}
    while True:
        async with database.maintenance() as connection:
            files, last = await statement_states.missing(
                connection,
                scope.scope_id,
                embedder.name,
                STATEMENT_FILE_NAMES,
                after=after,
                limit=BATCH_CHUNKS,
            )
        if last is None:
            return
        after = last
        texts = await _texts(scope, files, texts)
        made = await _statement_signs(
            database,
            embedder,
            scope,
            [texts[file.file_id, file.version].of(file.sha256s).statements for file in files],
        )
        async with database.maintenance() as connection:
            await made.add(connection, scope.scope_id, embedder.name)


@dataclass(frozen=True, slots=True)
class _StatementSigns:
    """The digest of each statement, that of its passage, and its signs; `width` is the dimensions of a state."""

    rows: Sequence[tuple[bytes, bytes, bytes]]
    width: int

    async def add(self, connection: Connection, scope_id: int, model: str) -> None:
        """Store them."""
        if self.rows:
            await statement_states.add(connection, scope_id, model, self.width, self.rows)


async def _statement_signs(
    database: Database,
    embedder: Embedder,
    scope: EmbeddingStart,
    of_files: Iterable[Mapping[bytes, Mapping[bytes, str]]],
) -> _StatementSigns:
    """Return the states of the statements in texts; those that the scope has already are not made again."""
    places = [
        (statement, sha256, text)
        for of_file in of_files
        for sha256, statements in of_file.items()
        for statement, text in statements.items()
    ]
    width = embedder.dimensions or 0
    rows: list[tuple[bytes, bytes, bytes]] = []
    for start in range(0, len(places), BATCH_STATEMENTS):
        batch = places[start : start + BATCH_STATEMENTS]
        texts = {statement: text for statement, _, text in batch}
        async with database.maintenance() as connection:
            signs = await statement_states.read(
                connection, [scope.scope_id], embedder.name, width, texts.keys()
            )
        new = {statement: text for statement, text in texts.items() if statement not in signs}
        if new:
            made = await embed_texts(embedder, list(new.values()))
            for statement, embedded in zip(new, made, strict=True):
                if embedded.states is not None:
                    signs[statement] = late_interaction.pack_signs(embedded.states)
                    width = embedded.states.shape[1]
        rows += [(text, sha256, signs[text]) for text, sha256, _ in batch if text in signs]
    return _StatementSigns(rows, width)


async def _embed(
    database: Database,
    embedder: Embedder,
    scope: EmbeddingStart,
    texts: dict[bytes, str],
    revisions: Sequence[str],
    of_files: Sequence[Mapping[bytes, Mapping[bytes, str]]] = (),
) -> None:
    """Store the vectors of texts, and in the same transaction which revisions the embedder saw parts of.

    The states of the statements in the texts, which `of_files` has, are stored in that transaction too: a text that
    has a vector is not looked at again.
    """
    if embedder.name not in LOCAL_MODELS.values():  # to which no text leaves the machine
        _log.info(
            "texts_sent_to_embedder",
            model=embedder.name,
            texts=len(texts),
            chars=sum(map(len, texts.values())),
            scope_id=scope.scope_id,
        )
    started_at, started_s = datetime.now(UTC), time.perf_counter()

    async def log(connection: Connection, error_code: str | None = None) -> None:
        await operations.add_embedding(
            connection,
            scope.log_scope_id,
            scope.user_id,
            embedder.name,
            revisions,
            texts=len(texts),
            started_at=started_at,
            duration_ms=(time.perf_counter() - started_s) * 1000,
            error_code=error_code,
        )

    try:
        made = await embed_texts(embedder, list(texts.values()))
        statements = await _statement_signs(database, embedder, scope, of_files)
    except BaseException as error:  # also of one that was called off: the texts may have been seen
        if is_not_asked(error):
            raise
        with suppress(MemexError):
            async with database.maintenance() as connection:
                await log(connection, error.code if isinstance(error, MemexError) else MemexError.code)
        raise
    async with database.maintenance() as connection:
        await log(connection)
        of_texts = [(sha256, embedded.vector) for sha256, embedded in zip(texts, made, strict=True)]
        if database.has_vectors:
            await vectors.add(connection, scope.scope_id, embedder.name, of_texts)
        states = {
            sha256: embedded.states
            for sha256, embedded in zip(texts, made, strict=True)
            if embedded.states is not None
        }
        if states and scope.kind not in BESIDE_MEMORY:  # what is not memory is not compared piece by piece
            signs = [(sha256, late_interaction.pack_signs(of_text)) for sha256, of_text in states.items()]
            width = next(iter(states.values())).shape[1]
            await token_states.add(connection, scope.scope_id, embedder.name, width, signs)
        await statements.add(connection, scope.scope_id, embedder.name)


async def _trim(database: Database, scope_id: int) -> None:
    is_more = True
    while is_more:
        async with database.maintenance() as connection:
            is_more = await vectors.trim(connection, scope_id, has_vectors=database.has_vectors)


def _reason(error: Exception) -> str:
    """Return what failed in words that hold nothing of a text."""
    if isinstance(error, ModelUnavailable):
        return str(error.details.get("reason", error.code))
    return error.code if isinstance(error, MemexError) else type(error).__name__
