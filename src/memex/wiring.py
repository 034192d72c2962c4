"""Open a running service from settings, and close everything that it opened."""

import asyncio
from collections.abc import AsyncIterator, Sequence
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
from memex.service.evals.run_folder import RunFolder
from memex.service.identity.rate_limits import Buckets, rate_limits
from memex.service.planners import Planners, builtin_planners
from memex.service.service import Service
from memex.service.tools.call_locks import CallLocks
from memex.service.tools.registry import new_metrics
from memex.settings import Settings
from memex.store.access import SecretPolicies
from memex.store.database import Database, Waiting
from memex.store.embedded.space import Space
from memex.store.search.analyzer import LANGUAGES, Analyzer
from memex.store.waiting.time_limits import TimeLimits
from memex.subagent import prompts
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.context.rendering import Rendering
from memex.subagent.embedders.choose import choose_embedder
from memex.subagent.embedders.interface import Embedder
from memex.subagent.limits import Limits
from memex.subagent.model.chat import ChatModel, ModelAccess, chat_model, list_price
from memex.subagent.planner import BUILTIN, Planner

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

    Raises:
        StoreUnavailable, SchemaTooNew: the database cannot be used; the hint says what to do.
        ValidationFailed: MEMEX_LANGUAGE names no language, or MEMEX_EMBEDDER names no installed embedder.
    """
    if settings.language not in LANGUAGES:
        raise ValidationFailed(
            f"MEMEX_LANGUAGE: there is no {settings.language!r}.", hint=f"There are: {', '.join(LANGUAGES)}."
        )
    metrics = new_metrics(counts)
    limits = rate_limits(settings, buckets, metrics)
    embedder = embedder_of(settings)
    if embedder is not None:
        embedder = metrics.counting(embedder)
    chats = chat_models(settings)
    with (
        telemetry.export_spans(settings) as tracing,
        closing(
            await asyncio.wrap_future(started or postgres.start_in_background(settings)),
        ) as ready,
    ):
        planning = planners_of(settings, chats, capabilities=tracing.capabilities() if any(chats) else ())
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
                ),
            )
            held.push_async_callback(database.close)
            if space.is_measured:
                measuring = asyncio.create_task(space.keep_measured(database.size_bytes))
                held.callback(measuring.cancel)
            for chat in chats:
                if chat is not None:
                    held.push_async_callback(chat.close)
            if embedder is not None:
                held.push_async_callback(embedder.close)
                if not database.has_vectors:
                    _log.warning("database_without_vectors", embedder=embedder.name)
            service = Service(
                database,
                max_files=settings.max_files,
                max_messages=settings.max_messages,
                language=settings.language,
                embedder=embedder,
                search_mode=settings.search_mode,
                planning=planning,
                metrics=metrics,
                tracing=tracing,
                prompts_dir=settings.prompts_dir,
                rendering=Rendering(images=settings.context_images),
                call_locks=call_locks,
                rate_limits=limits,
                secret_policies=SecretPolicies(settings.secrets_remember, settings.secrets_files),
                run_folder=RunFolder(settings.eval_runs),
                case_folder=settings.eval_cases,
            )
            if with_worker and database.has_jobs:
                await held.enter_async_context(_running_workers(ready.conninfo, service, settings))
            yield service


def load_modules(settings: Settings) -> None:
    """Load what `running_service` needs under these settings, so that processes forked afterwards share it."""
    if settings.conversation_days is not None:
        import_module("memex.jobs.conversation_days")
    import_module("memex.jobs.log_hours")
    import_module("memex.jobs.remember_queue")
    import_module("memex.jobs.worker")
    if {settings.model, settings.context_model, settings.remember_model} - {BUILTIN, None}:
        import_module("memex.subagent.model.planner")


def _running_workers(
    conninfo: str, service: Service, settings: Settings
) -> AbstractAsyncContextManager[None]:
    """Run the workers for queued calls and for sums of the log.

    With an embedder, run the one that embeds texts; with MEMEX_CONVERSATION_DAYS, the one that deletes.
    """
    from memex.jobs.log_hours import log_queue  # noqa: PLC0415  # needed only with a worker
    from memex.jobs.remember_queue import remember_queue  # noqa: PLC0415  # needed only with a worker
    from memex.jobs.worker import running_workers  # noqa: PLC0415

    queues = [
        remember_queue(service, at_once=settings.queue_workers),
        log_queue(service.database),
    ]
    if settings.conversation_days is not None:
        from memex.jobs.conversation_days import conversation_queue  # noqa: PLC0415  # needed only with a worker

        queues.append(conversation_queue(service, days=settings.conversation_days))
    if service.embedder is not None:
        from memex.jobs.embedding_queue import embedding_queue  # noqa: PLC0415  # of the extra `vectors`

        at_once = settings.embedding_workers
        queues.append(
            embedding_queue(
                service.database,
                service.embedder,
                at_once=at_once,
                conversations=settings.embed_conversations,
            )
        )
    return running_workers(conninfo, *queues, pooler_setting=settings.pooler)


def embedder_of(settings: Settings, name: str | None = None) -> Embedder | None:
    """Return the embedder of this name, by default the one of MEMEX_EMBEDDER, or None if neither is given.

    Raises:
        ValidationFailed: no embedder has this name, or a package that it needs is not installed.
    """
    name = name or settings.embedder
    if name is None:
        return None
    key = settings.openai_api_key
    return choose_embedder(
        name, api_key=key.get_secret_value() if key else None, base_url=settings.openai_base_url
    )


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
            chat, BuiltinPlanner(Analyzer()), limits=_limits(settings), mode=settings.model_mode, load=load
        )
    finally:
        await chat.close()


def _limits(settings: Settings) -> Limits:
    return Limits(
        requests=settings.model_requests,
        tool_calls=settings.model_tool_calls,
        input_tokens=settings.model_input_tokens,
        output_tokens=settings.model_output_tokens,
        seconds=settings.model_seconds,
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
) -> Planners:
    """Return the planners for the two tools, given the chat model of each and capabilities of their agents."""
    if chats == (None, None):
        return builtin_planners()
    from memex.subagent.model.planner import ModelPlanner  # noqa: PLC0415  # a second of loading

    limits = _limits(settings)
    builtin = BuiltinPlanner(Analyzer())
    planners: list[Planner] = [
        builtin
        if chat is None
        else ModelPlanner(
            chat,
            builtin,
            limits=limits,
            mode=settings.model_mode,
            load=partial(prompts.load, directory=settings.prompts_dir),
            capabilities=capabilities,
        )
        for chat in chats
    ]
    daily_usd = None if settings.daily_usd is None else Decimal(str(settings.daily_usd))
    return Planners(planners[0], planners[1], daily_usd, tuple(chat for chat in chats if chat is not None))
