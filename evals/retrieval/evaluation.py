"""Runs a suite: writes its files through the service, asks its questions, and records what came back."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from memex.api.dreams import Dreams
from memex.api.local import LocalMemex
from memex.call_context import CallContext
from memex.errors import ValidationFailed
from memex.evals.fixtures.data_folder import temporary_data_folder
from memex.evals.languages import suite as languages
from memex.evals.retrieval import foreign, runs
from memex.evals.retrieval.embedding_cache import cached
from memex.evals.retrieval.evidence import measure_recall
from memex.evals.retrieval.first_prompt import first_prompt_answer
from memex.evals.retrieval.leak_guard import check_leaks
from memex.evals.retrieval.runs import (
    ForeignOutcome,
    ForeignRun,
    PartRun,
    QuestionOutcome,
    RetrievalConfig,
    RetrievalRun,
)
from memex.evals.retrieval.stored_as import conversations, documents
from memex.evals.retrieval.suites import Collection, Question, Reader, SuitePart, readers_of
from memex.evals.run_files import code_revision
from memex.service.chunk_embedding import backfill
from memex.service.evals.run_documents import FORMAT
from memex.service.service import Caller, Service, new_call
from memex.settings import Settings
from memex.store.identity import authentication, tenants
from memex.store.identity.authentication import Principal
from memex.store.log.call import CallAnswer
from memex.store.search.find import MAX_HITS
from memex.subagent.engine import ENGINE
from memex.wiring import running_service

BUDGETS = (2_000, 4_000, 8_000)
CONCURRENCY = 4  # questions: enough that Python and Postgres each keep a core busy
MAX_FILES = 10_000
FILES_A_COMMIT = 100

StoredAs = Literal["files", "conversations", "documents"]
Progress = Callable[[str, int, int], None]
Outcome = TypeVar("Outcome", QuestionOutcome, ForeignOutcome)


@dataclass(frozen=True, slots=True)
class RetrievalOptions:
    """The options with which a suite is run.

    Attributes:
        mode: the search mode: bm25, hybrid or auto.
        embedder: the embedder of the texts and the questions; not used in mode bm25.
        sample: the number of questions of each part, always the same ones; None for all questions.
        stored_as: files of memory, messages of imported conversations, or documents.
        database_url: the URL of a database that may be thrown away; None for an embedded server of the run's own.
        embeddings: the folder in which embeddings are kept between runs; None keeps none.
        told: what each user tells memory before the questions are asked, beside the files.
        dreams: takes the dreams of each user before the questions are asked.
    """

    mode: str = "bm25"
    embedder: str = "local"
    sample: int | None = None
    stored_as: StoredAs = "files"
    database_url: str | None = None
    embeddings: Path | None = None
    told: tuple[str, ...] = ()
    dreams: Callable[[Dreams], Awaitable[object]] | None = None

    @property
    def budgets(self) -> tuple[int, ...]:
        """The budgets of contexts: none of what is no memory, and only searched."""
        return BUDGETS if self.stored_as == "files" else ()


def ignore_progress(_what: str, _done: int, _total: int) -> None:
    """Ignore a report of progress."""


async def run_suite(
    suite: str, root: Path, options: RetrievalOptions, *, progress: Progress = ignore_progress
) -> RetrievalRun:
    """Run every part of a suite, each in a tenant of its own, and return the run.

    Args:
        suite: a name of `suites.SUITES`, or `all`.
        root: the folder of the data.
        options: how the suite is run.
        progress: is called with the present step, the amount that is done, and the whole amount.

    Raises:
        ValidationFailed: a file of the data is missing, the embedder is not installed, or the suite is not stored
            in this way.
    """
    is_files = options.stored_as == "files"
    if not is_files and options.mode != "bm25":
        raise ValidationFailed(f"There are no vectors of {options.stored_as}.", hint="Leave out --mode.")
    started_at, started = datetime.now(UTC), time.perf_counter()
    readers = _readers_of(suite, options.stored_as)
    parts = [reader(root) for reader in readers]
    told_apart = [part for part in parts if part.is_foreign]
    async with _open_service(options) as service:
        played = [
            await _run_part(service, part, options, progress)
            for part in parts
            if part.questions and not part.is_foreign
        ]
        measured = [await _run_foreign(service, part, options, progress) for part in told_apart]
        server = await _server_version(service)
    return RetrievalRun(
        format=FORMAT,
        suite=suite if is_files else f"{suite}-{options.stored_as}",
        started_at=started_at,
        duration_s=time.perf_counter() - started,
        config=RetrievalConfig(
            mode=options.mode if options.mode == "bm25" else f"{options.mode} {options.embedder}",
            budgets=options.budgets,
            depth=MAX_HITS,
            sample=options.sample,
            server=server,
        ),
        engine=ENGINE,
        revision=code_revision(),
        parts=tuple(played),
        foreign=tuple(measured),
    )


def _readers_of(suite: str, stored_as: StoredAs) -> tuple[Reader, ...]:
    if stored_as == "files" and suite == languages.LANGUAGES:
        return languages.READERS
    if stored_as == "files":
        told_apart = (foreign.locomo_foreign,) if suite in ("all", foreign.FOREIGN) else ()
        return (*(readers_of(suite) if suite != foreign.FOREIGN else ()), *told_apart)
    known = conversations.SUITES if stored_as == "conversations" else documents.SUITES
    if suite not in known:
        raise ValidationFailed(
            f"The suite {suite!r} is not stored as {stored_as}.", hint=f"Choose one of: {', '.join(known)}."
        )
    return known[suite]


@asynccontextmanager
async def _open_service(options: RetrievalOptions) -> AsyncIterator[Service]:
    """Open a service as users run it, over the given database or over one that is removed afterwards."""
    with ExitStack() as stack:
        data_dir = None if options.database_url else stack.enter_context(temporary_data_folder())
        given: dict[str, Any] = {
            "DATABASE_URL": options.database_url,
            "MEMEX_DATA_DIR": data_dir,
            "MEMEX_MAX_CONNECTIONS": 2 * CONCURRENCY,
            "MEMEX_MAX_FILES": MAX_FILES,
            "MEMEX_SEARCH_MODE": options.mode,
            "MEMEX_CONTEXT_INCLUDE": None,
            "MEMEX_SECRETS_FILES": "off",  # public data: a document is never left out
            "MEMEX_EMBEDDER": None if options.mode == "bm25" else options.embedder,
        }
        folder = options.embeddings
        wrap = partial(cached, folder=folder) if folder else None
        async with running_service(Settings(**given), wrap_embedder=wrap) as service:
            yield service


async def _run_part(
    service: Service, part: SuitePart, options: RetrievalOptions, progress: Progress
) -> PartRun:
    started = time.perf_counter()
    callers = await _load_part(service, part, options, progress)
    loaded = time.perf_counter()
    outcomes = await _ask_questions(
        part, options, progress, partial(_ask_question, service, callers, options)
    )
    asked = time.perf_counter()
    return PartRun(
        name=part.name,
        collections=len(part.collections),
        files=part.files,
        load_s=loaded - started,
        ask_s=asked - loaded,
        guard=None if part.has_names else check_leaks(part.collections),
        figures=runs.estimate_figures(outcomes),
        counts=runs.count_groups(outcomes),
        outcomes=tuple(outcomes),
    )


async def _run_foreign(
    service: Service, part: SuitePart, options: RetrievalOptions, progress: Progress
) -> ForeignRun:
    callers = await _load_part(service, part, options, progress)

    async def ask(collection: Collection, question: Question) -> ForeignOutcome:
        return await foreign.ask(service, callers[collection.user], question, options.mode)

    return foreign.measure(part.name, await _ask_questions(part, options, progress, ask))


async def _load_part(
    service: Service, part: SuitePart, options: RetrievalOptions, progress: Progress
) -> dict[str, Caller]:
    """Store the files of a part in a tenant of its own, and return the callers by their users."""
    tenant_id = await tenants.ensure_tenant(service.database, f"eval-{uuid.uuid4().hex[:12]}")
    callers = {
        collection.user: await _caller(service, tenant_id, collection.user, part.language)
        for collection in part.collections
    }
    if options.stored_as == "files":
        await _write_files(service, part, callers, progress)
        await _tell(service, callers, options.told)
        if options.dreams is not None:
            api = LocalMemex(service, Principal(tenant_id, "agent"), role="agent")
            for collection in part.collections:
                await options.dreams(Dreams(api, CallContext(user_id=collection.user, actor="eval")))
    else:
        await _write_beside(service, part, callers, progress, options.stored_as)
        # Once more: what they have beside memory is a scope of its own, which they may read now.
        callers = {user: await _caller(service, tenant_id, user, part.language) for user in callers}
    async with service.database.connection() as connection:
        await connection.execute("vacuum analyze")
    return callers


async def _caller(service: Service, tenant_id: int, user: str, language: str) -> Caller:
    """Return the caller of a user, whose scope is made in this language if it does not exist."""
    context, agent = CallContext(user_id=user, actor="eval"), Principal(tenant_id, "agent")
    await authentication.resolve(service.database, agent, context, language=language, makes_user=True)
    return await service.caller(agent, context, makes_user=True)


async def _write_files(
    service: Service, part: SuitePart, callers: Mapping[str, Caller], progress: Progress
) -> None:
    """Write the files of each collection for its user."""
    done = 0
    for collection in part.collections:
        caller = callers[collection.user]
        files = list(collection.files.items())
        for first in range(0, len(files), FILES_A_COMMIT):
            draft, batch = service.draft(caller), files[first : first + FILES_A_COMMIT]
            for path, content in batch:
                draft.write(path, content)
            await draft.commit(new_call(caller, "eval_load", {}, None), _count_files)
            done += len(batch)
            progress(f"{part.name}: writing", done, part.files)
    if service.embedder is not None:
        embedded = 0

        def tell(texts: int) -> None:
            nonlocal embedded
            embedded += texts
            progress(f"{part.name}: embedding", embedded, embedded)

        await backfill(service.database, service.embedder, on_texts=tell)


async def _tell(service: Service, callers: Mapping[str, Caller], texts: Sequence[str]) -> None:
    """Have each user remember texts."""
    for caller in callers.values():
        for number, text in enumerate(texts):
            await service.execute(caller, "memory_remember", {"text": text}, tool_call_id=f"told-{number}")
    if texts and service.embedder is not None:
        await backfill(service.database, service.embedder)


async def _write_beside(
    service: Service,
    part: SuitePart,
    callers: Mapping[str, Caller],
    progress: Progress,
    stored_as: StoredAs,
) -> None:
    """Store the files of each collection for its user as messages, or as documents."""
    done = 0

    def tell(stored: int) -> None:
        nonlocal done
        done += stored
        progress(f"{part.name}: writing", done, part.files)

    for collection in part.collections:
        write = conversations.write_messages if stored_as == "conversations" else documents.write_documents
        await write(service, callers[collection.user], collection, tell)


def _count_files(changes: tuple[Any, ...]) -> CallAnswer:
    return CallAnswer({}, {}, {"files": len(changes)})


async def _ask_questions(
    part: SuitePart,
    options: RetrievalOptions,
    progress: Progress,
    ask: Callable[[Collection, Question], Awaitable[Outcome]],
) -> list[Outcome]:
    """Ask the questions of a part, a few at a time, and return their outcomes in the order of the questions."""
    wanted = _sample_questions(part, options.sample)
    waiting = iter(enumerate(wanted))
    outcomes: dict[int, Outcome] = {}

    async def work() -> None:
        for number, (collection, question) in waiting:
            outcomes[number] = await ask(collection, question)
            progress(f"{part.name}: asking", len(outcomes), len(wanted))

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(CONCURRENCY):
                group.create_task(work())
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None  # one of several of a kind, that callers know how to tell
    return [outcomes[number] for number in sorted(outcomes)]


def _sample_questions(part: SuitePart, sample: int | None) -> list[tuple[Collection, Question]]:
    asked = [(collection, question) for collection in part.collections for question in collection.questions]
    if sample is None:
        return asked
    return sorted(asked, key=lambda pair: pair[1].id)[:sample]


async def _ask_question(
    service: Service,
    callers: Mapping[str, Caller],
    options: RetrievalOptions,
    collection: Collection,
    question: Question,
) -> QuestionOutcome:
    caller, mode = callers[collection.user], options.mode
    if options.stored_as == "conversations":
        return await conversations.ask_question(service, caller, question)
    if options.stored_as == "documents":
        return await documents.ask_question(service, caller, question)
    arguments = {"query": question.text, "limit": MAX_HITS} | {"mode": mode}
    found = await service.execute(caller, "memory_find", arguments)
    ranks = {hit["path"]: rank for rank, hit in enumerate(found["hits"], start=1)}
    contexts = {}
    for budget in BUDGETS:
        asked = {"query": question.text, "budget": budget}
        answer = await service.execute(caller, "memory_context", asked)
        contexts[budget] = measure_recall(question, answer, collection.files)
    return QuestionOutcome(
        id=question.id,
        kinds=question.kinds,
        ranks=tuple(ranks.get(path) for path in question.relevant),
        contexts=contexts,
        prompt=measure_recall(
            question, await first_prompt_answer(service, caller, question.text), collection.files
        ),
    )


async def _server_version(service: Service) -> str:
    async with service.database.connection() as connection:
        row = await (await connection.execute("show server_version")).fetchone()
    return str(row["server_version"]) if row else "unknown"
