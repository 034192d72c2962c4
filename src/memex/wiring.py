"""Open a running service from settings, and close everything that it opened."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, closing
from decimal import Decimal
from functools import partial
from importlib import import_module
from typing import Any

import structlog

from memex import postgres, telemetry
from memex.counts import SharedCounts
from memex.errors import ValidationFailed
from memex.service.identity.rate_limits import Buckets, rate_limits
from memex.service.planners import Planners, builtin_planners
from memex.service.service import Service
from memex.service.tools.call_locks import CallLocks
from memex.service.tools.registry import new_metrics
from memex.settings import Settings, days_in, parse_included, parse_model_seconds, unknown_settings
from memex.store.access import SecretPolicies
from memex.store.database import Database, Waiting
from memex.store.documents.records import DocumentLimits
from memex.store.embedded.space import Space
from memex.store.search.analyzer import LANGUAGES, Analyzer
from memex.store.waiting.primary import START_WAIT_S
from memex.store.waiting.time_limits import TimeLimits
from memex.subagent import prompts
from memex.subagent.breaker import EMBEDDING, Breaker, OnBreaker
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.context.rendering import Rendering
from memex.subagent.embedders.choose import choose_embedder, resolve_name
from memex.subagent.embedders.interface import Embedder
from memex.subagent.embedders.names import AUTO, LOCAL_MODELS, parse_name
from memex.subagent.embedders.shared_model import SharedModel, open_model
from memex.subagent.limits import Limits
from memex.subagent.model.chat import ChatModel, ModelAccess, chat_model, list_price
from memex.subagent.planner import BUILTIN, Planner

JOURNAL_KEPT = "memory_remember now keeps each told text, word for word, in the user's journal"
JOURNAL_PAGE = "docs/security.md#the-words-are-kept"

_log = structlog.get_logger("memex")


@asynccontextmanager
async def running_service(
    settings: Settings,
    *,
    started: Future[postgres.Postgres] | None = None,
    with_worker: bool = False,
    counts: SharedCounts | None = None,
    call_locks: CallLocks | None = None,
    buckets: Buckets | None = None,
    wrap_embedder: Callable[[Embedder], Embedder] | None = None,
    shared_model: SharedModel | None = None,
) -> AsyncIterator[Service]:
    """Open a service over `DATABASE_URL` or the embedded Postgres, with its schema up to date.

    Args:
        settings: the settings of this process.
        started: a start of Postgres that is already under way, from `postgres.start_in_background`.
        with_worker: whether to carry out queued calls in the background, and to embed texts if there is an
            embedder and the database has vectors.
        counts: holds the numbers of `/metrics`, if several processes share them.
        call_locks: make equal calls run one after the other, if several processes share them.
        buckets: hold what rate limits count, if several processes share them.
        wrap_embedder: puts something before the embedder, such as a cache.
        shared_model: holds the local model, if several processes share it. With a worker, the service has one of
            its own otherwise; without, the model is loaded in this process.

    Raises:
        StoreUnavailable, SchemaTooNew: the database cannot be used; the hint says what to do.
        ValidationFailed: MEMEX_LANGUAGE names no language, MEMEX_CONTEXT_INCLUDE nothing to include, or
            MEMEX_EMBEDDER no installed embedder.
    """
    if settings.language not in LANGUAGES:
        raise ValidationFailed(
            f"MEMEX_LANGUAGE: there is no {settings.language!r}.", hint=f"There are: {', '.join(LANGUAGES)}."
        )
    include = parse_included(settings.context_include or "", "MEMEX_CONTEXT_INCLUDE")
    metrics = new_metrics(counts)
    limits = rate_limits(settings, buckets, metrics)
    with_model = with_worker or counts is not None  # a process that serves
    embedder_of(settings)  # what is wrong with it is said before anything is opened
    chats = chat_models(settings)
    with (
        open_model(
            shared_model_name(settings) if with_worker and shared_model is None else None
        ) as own_model,
        telemetry.export_spans(settings) as tracing,
        closing(
            await asyncio.wrap_future(started or postgres.start_in_background(settings)),
        ) as ready,
    ):
        if ready.begins_journal and settings.journal == "on":
            _log.warning(
                "journal_begins", kept=JOURNAL_KEPT, switch_off="MEMEX_JOURNAL=off", see=JOURNAL_PAGE
            )
        for setting, near in unknown_settings().items():
            _log.warning("setting_unknown", setting=setting, near=near)
        breaker = embedder_breaker(settings, metrics.set_breaker)
        embedder = embedder_of(settings, shared_model=shared_model or own_model, breaker=breaker)
        if embedder is not None:
            embedder = metrics.counting(wrap_embedder(embedder) if wrap_embedder else embedder)
        capabilities = tracing.capabilities() if any(chats) else ()
        planning = planners_of(settings, chats, capabilities=capabilities, on_breaker=metrics.set_breaker)
        async with AsyncExitStack() as held:
            space = Space(ready.lease.data_dir if ready.lease else None, settings.max_database_bytes)
            database = await Database.open(
                ready.conninfo,
                max_connections=settings.max_connections,
                pooler_setting=settings.pooler,
                space=space,
                agent_conninfo=ready.agent_conninfo,
                waiting=Waiting(
                    limits=TimeLimits(settings.lock_seconds, settings.statement_seconds),
                    user_slots=settings.user_concurrency,
                    count=metrics.add_refused,
                    restart_after_s=ready.restart_after_s,
                    primary_s=0.0 if with_model else START_WAIT_S,
                ),
            )
            held.push_async_callback(database.close)
            await erase_again(settings, database)
            if space.is_measured:
                measuring = asyncio.create_task(space.keep_measured(database.size_bytes))
                held.callback(measuring.cancel)
            for chat in chats:
                if chat is not None:
                    held.push_async_callback(chat.close)
            if embedder is not None:
                held.push_async_callback(embedder.close)
                if not database.has_vectors and (with_model or settings.embedder != AUTO):
                    has_states = embedder.gives_states
                    _log.warning("database_without_vectors", embedder=embedder.name, token_states=has_states)
            service = Service(
                database,
                max_files=settings.max_files,
                max_journal_bytes=settings.max_journal_bytes,
                max_messages=settings.max_messages,
                document_limits=DocumentLimits(settings.max_documents, settings.max_document_bytes),
                language=settings.language,
                embedder=embedder,
                search_mode=settings.search_mode,
                is_brief=not with_model and shared_model_name(settings) is not None,
                planning=planning,
                metrics=metrics,
                tracing=tracing,
                prompts_dir=settings.prompts_dir,
                rendering=Rendering(images=settings.context_images),
                call_locks=call_locks,
                rate_limits=limits,
                secret_policies=SecretPolicies(settings.secrets_remember, settings.secrets_files),
                case_folder=settings.eval_cases,
                include=include,
                min_confidence=settings.context_min_confidence,
                keeps_journal=settings.journal == "on",
                erasure_ledger=postgres.ledger_of(settings),
            )
            service.identities.agents_make_projects = settings.agent_projects
            if service.embedder is not None:
                service.embeds_conversations = embeds_conversations(settings, service.embedder.name)
            if settings.dream_model not in (None, BUILTIN):
                service.dream_model = _chat_model(settings.dream_model, settings)
                service.dream_limits = model_limits(settings)
                held.push_async_callback(service.dream_model.close)
            if with_worker and database.has_jobs:
                await held.enter_async_context(_running_workers(ready.conninfo, service, settings, breaker))
            yield service


async def erase_again(settings: Settings, database: Database) -> None:
    """Erase what was erased before in a database that was restored since, and finish what was interrupted."""
    path = postgres.ledger_of(settings)
    if path.exists():
        from memex.service.erasing import case_files  # noqa: PLC0415  # needed only with a ledger
        from memex.service.erasing.erase import citing_digests  # noqa: PLC0415
        from memex.store.upkeep.words.erasing import run_ledger  # noqa: PLC0415

        await run_ledger(database, path, citing_digests, beside=partial(case_files.fill, settings.eval_cases))


def load_modules(settings: Settings) -> None:
    """Load what `running_service` needs under these settings, so that processes forked afterwards share it."""
    import_module("memex.jobs.clock")
    import_module("memex.jobs.remember_queue")
    import_module("memex.jobs.worker")
    if {settings.model, settings.context_model, settings.remember_model} - {BUILTIN, None}:
        import_module("memex.subagent.model.planner")


def _running_workers(
    conninfo: str, service: Service, settings: Settings, breaker: Breaker | None
) -> AbstractAsyncContextManager[None]:
    """Run the workers for queued calls, for what the clock starts, and for texts that an embedder embeds."""
    from memex.jobs.clock import clock_queue  # noqa: PLC0415  # needed only with a worker
    from memex.jobs.remember_queue import remember_queue  # noqa: PLC0415  # needed only with a worker
    from memex.jobs.worker import running_workers  # noqa: PLC0415

    queues = [
        remember_queue(service, at_once=settings.queue_workers),
        clock_queue(
            service,
            conversation_days=settings.conversation_days or 0,
            journal_days=settings.journal_days,
            thin_days=days_in(settings.thin_revisions) if settings.thin_revisions else 0,
        ),
    ]
    if service.embedder is not None:
        from memex.jobs.embedding_queue import embedding_queue  # noqa: PLC0415  # of the extra `vectors`

        at_once = settings.embedding_workers
        queues.append(
            embedding_queue(
                service.database,
                service.embedder,
                at_once=at_once,
                conversations=service.embeds_conversations,
                breaker=breaker,
            )
        )
    return running_workers(conninfo, *queues, pooler_setting=settings.pooler)


def embeds_conversations(settings: Settings, embedder: str) -> bool:
    """Return whether conversations are embedded by themselves; by default, no text leaves the machine for it."""
    is_local = embedder in LOCAL_MODELS.values() or parse_name(embedder).get("provider") == "hash"
    return is_local if settings.embed_conversations is None else settings.embed_conversations


def embedder_of(
    settings: Settings,
    name: str | None = None,
    *,
    shared_model: SharedModel | None = None,
    breaker: Breaker | None = None,
) -> Embedder | None:
    """Return the embedder of this name, by default the one of MEMEX_EMBEDDER, or None if that means none.

    Args:
        settings: the settings with the access to providers.
        name: of an embedder.
        shared_model: holds the local model; None loads it in this process when it is first used.
        breaker: says whether an embedder on another machine is asked; None if it always is.

    Raises:
        ValidationFailed: no embedder has this name, or a package that it needs is not installed.
    """
    name = resolve_name(name or settings.embedder)
    if name is None:
        return None
    key = settings.openai_api_key
    return choose_embedder(
        name,
        api_key=key.get_secret_value() if key else None,
        base_url=settings.openai_base_url,
        shared_model=shared_model,
        breaker=breaker,
    )


def embedder_breaker(settings: Settings, on_change: OnBreaker) -> Breaker | None:
    """Return the breaker of the embedder, if it is one over HTTP."""
    embedder = embedder_of(settings)
    if embedder is None or parse_name(embedder.name).get("provider") != "openai":
        return None
    return Breaker(embedder.name, EMBEDDING, on_change)


def shared_model_name(settings: Settings) -> str | None:
    """Return the name of the local model that the settings mean, if they mean one."""
    name = resolve_name(settings.embedder)
    return None if name is None else LOCAL_MODELS.get(parse_name(name).get("provider", ""))


def chat_models(settings: Settings) -> tuple[ChatModel | None, ChatModel | None]:
    """Return the chat models for memory_context and memory_remember; None stands for the built-in planner.

    Raises:
        ValidationFailed: no model has this name, something that the model needs is missing, or spending is
            limited and the price of the model is unknown.
    """
    wanted = settings.context_model or settings.model, settings.remember_model or settings.model
    made = {name: _chat_model(name, settings) for name in dict.fromkeys(wanted) if name != BUILTIN}
    return made.get(wanted[0]), made.get(wanted[1])


@asynccontextmanager
async def model_planner(settings: Settings, model: str | None, prompt: str | None) -> AsyncIterator[Planner]:
    """Open a planner that asks a chat model: the named model, or the model of the settings.

    Args:
        settings: the settings with the access to the model and its limits.
        model: the name of the model. None stands for the model of memory_context or, if there is none, the
            model of memory_remember.
        prompt: the text of the prompt that replaces the planner's own; None keeps it.

    Raises:
        ValidationFailed: no model has this name, something that the model needs is missing, or the prompt is
            malformed.
    """
    own = next(
        (name for name in (settings.context_model, settings.remember_model, settings.model) if name), None
    )
    name = model or own
    if name is None or name == BUILTIN:
        raise ValidationFailed(
            "No model is set up that could be asked.", hint="Name one: --model openai:NAME."
        )
    chat = _chat_model(name, settings)
    from memex.subagent.model.planner import ModelPlanner  # noqa: PLC0415  # a second of loading

    given = None if prompt is None else prompts.parse("prompt", prompt)

    def load(which: str) -> prompts.Prompt:
        return prompts.load(which, settings.prompts_dir) if given is None else given

    try:
        yield ModelPlanner(
            chat,
            BuiltinPlanner(Analyzer()),
            limits=model_limits(settings),
            mode=settings.model_mode,
            pick=settings.model_pick,
            lead=settings.model_lead,
            load=load,
        )
    finally:
        await chat.close()


def model_limits(settings: Settings) -> Limits:
    """Return what a model may use in one call."""
    context_seconds, seconds = parse_model_seconds(settings.model_seconds)
    return Limits(
        requests=settings.model_requests,
        tool_calls=settings.model_tool_calls,
        input_tokens=settings.model_input_tokens,
        output_tokens=settings.model_output_tokens,
        seconds=seconds,
        context_seconds=context_seconds,
        writes=settings.model_writes,
        usd=None if settings.model_usd is None else Decimal(str(settings.model_usd)),
    )


def _chat_model(name: str, settings: Settings) -> ChatModel:
    key = settings.openai_api_key
    access = ModelAccess(
        key.get_secret_value() if key else None, settings.openai_base_url, api=settings.model_api
    )
    try:
        chat = chat_model(name, access, price=settings.model_price)
    except ValidationFailed as error:
        raise ValidationFailed(f"MEMEX_MODEL: {error.message}", hint=error.hint) from None
    is_limited = settings.model_usd is not None or settings.daily_usd is not None
    if is_limited and chat.price is None and list_price(name, 1, 1) is None:
        raise ValidationFailed(
            f"MEMEX_MODEL_USD and MEMEX_DAILY_USD limit money, and no price of {name} is known.",
            hint="Set MEMEX_MODEL_PRICE to the dollars for a million tokens read/written, such as 0.15/0.60.",
        )
    return chat


def planners_of(
    settings: Settings,
    chats: tuple[ChatModel | None, ChatModel | None],
    *,
    capabilities: Sequence[Any] = (),
    on_breaker: OnBreaker | None = None,
) -> Planners:
    """Return the planners for the two tools.

    Args:
        settings: the settings with the limits of the models.
        chats: the chat model of each tool; None for the built-in planner.
        capabilities: the capabilities of the models' agents.
        on_breaker: told when a model is left alone, and when it is asked again; None always asks it.
    """
    daily_usd = None if settings.daily_usd is None else Decimal(str(settings.daily_usd))
    if chats == (None, None):
        return builtin_planners(daily_usd)
    from memex.subagent.model.planner import USES, ModelPlanner  # noqa: PLC0415  # a second of loading

    def breakers_of(chat: ChatModel) -> dict[str, Breaker]:
        if on_breaker is None:
            return {}
        return {use: Breaker(chat.name, use, on_breaker) for use in USES}

    limits = model_limits(settings)
    builtin = BuiltinPlanner(Analyzer())
    planners: list[Planner] = [
        builtin
        if chat is None
        else ModelPlanner(
            chat,
            builtin,
            limits=limits,
            mode=settings.model_mode,
            pick=settings.model_pick,
            lead=settings.model_lead,
            load=partial(prompts.load, directory=settings.prompts_dir),
            capabilities=capabilities,
            breakers=breakers_of(chat),
        )
        for chat in chats
    ]
    return Planners(planners[0], planners[1], daily_usd, tuple(chat for chat in chats if chat is not None))
