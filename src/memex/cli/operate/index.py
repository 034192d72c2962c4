"""`memex index` and `memex conversations rebuild`: show and rebuild what search derives from texts."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memex.cli.conversations.options import parse_moment
from memex.cli.operate.index_database import IndexDatabase, ScopeSelection, index_command
from memex.cli.operate.index_screens import show_backfill, show_rebuilt, show_status, show_without_vectors
from memex.cli.output import CommandOutput, format_count
from memex.cli.progress import counting_bar
from memex.cli.session.session import CommandSession
from memex.errors import ValidationFailed

if TYPE_CHECKING:
    from memex.store.database import Connection
    from memex.store.upkeep.reindex import IndexedScope, Kind


SHOWN_SCOPES = 200

Model = Annotated[
    str | None,
    typer.Option(help="The embedder, if not MEMEX_EMBEDDER, such as openai:MODEL@DIMENSIONS or local."),
]
OnlyStale = Annotated[
    bool, typer.Option("--only-stale", help="Rebuild only indexes that are out of date, after an upgrade.")
]
TenantOfConversations = Annotated[
    str | None, typer.Option(help="Only conversations in this tenant; `default` with --user.")
]
UserOfConversations = Annotated[str | None, typer.Option(help="Only the conversations of this user.")]


@index_command
async def status(
    opened: IndexDatabase,
    scopes: Annotated[bool, typer.Option("--scopes", help="Also show each scope.")] = False,
) -> CommandOutput:
    """Show which indexes are out of date, how much each model has embedded, and the state of the jobs."""
    from memex.service.chunk_embedding import EmbeddingEstimate
    from memex.store.log.embedding_rate import texts_a_second
    from memex.store.search import vectors
    from memex.wiring import embedder_of

    embedder = embedder_of(opened.settings)
    current = embedder.name if embedder else None
    has_vectors = opened.database.has_vectors
    async with opened.database.maintenance() as connection:
        stale = await _stale(connection)
    document: dict[str, Any] = stale | {
        "vectors": has_vectors,
        "embedder": current,
        "search_mode": opened.settings.search_mode,
    }
    has_states = opened.database.has_jobs and embedder is not None and embedder.gives_states
    if not (has_vectors or has_states):
        return CommandOutput(
            document | {"models": [], "jobs": {}}, lambda screen: show_without_vectors(screen, document)
        )
    from memex.wiring import embeds_conversations

    conversations = current is not None and embeds_conversations(opened.settings, current)
    async with opened.database.maintenance() as connection:
        models = await vectors.status(
            connection, current, conversations=conversations, has_vectors=has_vectors
        )
        found = await vectors.job_status(connection, "embed_scope")
        speed = await texts_a_second(connection, current) if current else None
        shown = (
            await vectors.scope_status(connection, current, limit=SHOWN_SCOPES, conversations=conversations)
            if scopes and current and has_vectors
            else []
        )
    missing = sum(model.missing for model in models if model.model == current)
    states = {"waiting": "todo", "running": "doing", "failed": "failed"}
    document |= {
        "models": [
            asdict(model)
            | {
                "missing": model.missing,
                "failed_at": model.failed_at.isoformat() if model.failed_at else None,
                "is_current": model.model == current,
            }
            for model in models
        ],
        "jobs": {name: found.get(state, 0) for name, state in states.items()},
        "seconds_left": EmbeddingEstimate(missing, speed).seconds_left,
    }
    if scopes:
        document["scopes"] = [
            asdict(scope) | {"embedded_at": scope.embedded_at.isoformat() if scope.embedded_at else None}
            for scope in shown
        ]
    return CommandOutput(document, lambda screen: show_status(screen, document))


@index_command
async def rebuild(
    opened: IndexDatabase,
    tenant: Annotated[
        str | None,
        typer.Option(
            help="The tenant; with --user, --project or --shared the tenant is `default` if not given."
        ),
    ] = None,
    user: Annotated[str | None, typer.Option(help="Rebuild the files of this user.")] = None,
    project: Annotated[str | None, typer.Option(help="Rebuild the files of this project.")] = None,
    shared: Annotated[bool, typer.Option("--shared", help="Rebuild the shared files of the tenant.")] = False,
    everything: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Rebuild all files and conversations; the default without --user, --project and --shared.",
        ),
    ] = False,
    language: Annotated[
        str | None, typer.Option(help="The new language of the files, such as german.")
    ] = None,
    only_stale: OnlyStale = False,
) -> CommandOutput:
    """Rebuild the search index from the files, after an upgrade or for another language.

    During the rebuild, reads use the old index. A write waits until the files that it changes are done.
    """
    named: list[tuple[Kind, str]] = []
    if user is not None:
        named.append(("user", user))
    if project is not None:
        named.append(("project", project))
    if shared:
        named.append(("shared", ""))
    if len(named) + everything > 1:
        raise ValidationFailed("Name one of --user, --project, --shared and --all.")
    if language is not None and not (named or everything or tenant):
        raise ValidationFailed(
            "--language needs to know whose files change their language.",
            hint="Name --user, --project, --shared, --tenant, or --all.",
        )
    chosen = ScopeSelection(tenant or "default", *named[0]) if named else ScopeSelection(tenant)
    return await _rebuild(opened, chosen, language, only_stale=only_stale)


@index_command
async def rebuild_conversations(
    opened: IndexDatabase,
    tenant: TenantOfConversations = None,
    user: UserOfConversations = None,
    language: Annotated[
        str | None, typer.Option(help="The new language of the conversations, such as german.")
    ] = None,
    only_stale: OnlyStale = False,
) -> CommandOutput:
    """Rebuild the index of imported conversations from their messages, of one user or of all.

    During the rebuild, reads use the old index, and an import waits. `memex index status` shows whether another
    version made an index.
    """
    if language is not None and user is None and tenant is None:
        raise ValidationFailed(
            "--language needs to know whose conversations change their language.",
            hint="Name --user or --tenant.",
        )
    return await _rebuild(opened, _conversations(tenant, user), language, only_stale=only_stale)


@index_command
async def backfill(opened: IndexDatabase, model: Model = None) -> CommandOutput:
    """Embed all texts that have no vector yet; those of conversations by a model of this machine, or if set so.

    With --model, prepare another model while the current one stays in use.
    """
    return await _embed(opened, model)


async def _ask_for_backfill(session: CommandSession, since: str | None, model: str | None) -> CommandOutput:
    if since is not None or model is not None:
        raise ValidationFailed(
            "--since and --model need the database, but MEMEX_URL names a service.",
            hint="Leave them out: the service embeds all conversations by its own model, the newest first.",
        )
    asked = await session.call("conversation_backfill")
    return CommandOutput(asked, lambda screen: show_backfill(screen, asked))


@partial(index_command, over_http=_ask_for_backfill)
async def backfill_conversations(
    opened: IndexDatabase,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Only messages from this time on: 90d, 2w, or a day such as 2026-11-22."
        ),
    ] = None,
    tenant: TenantOfConversations = None,
    user: UserOfConversations = None,
    model: Model = None,
) -> CommandOutput:
    """Embed imported conversations, so that `dig` and `semantic` find messages by meaning.

    What was embedded stays when the command ends early, and the next run finds the rest. A service at MEMEX_URL
    embeds in the background, the user's own documents too: the next run says how far it is.
    """
    from memex.store.upkeep import reindex

    begun = parse_moment(since, "--since")
    opened.require_vectors()
    async with opened.database.maintenance() as connection:
        scopes = await reindex.scopes(connection, **asdict(_conversations(tenant, user)))
    return await _embed(opened, model, scopes, datetime.fromisoformat(begun) if begun else None)


@index_command
async def drop(
    opened: IndexDatabase,
    model: Annotated[str, typer.Option(help="The name that `memex index status` shows.")],
) -> CommandOutput:
    """Delete all vectors of a model."""
    from memex.store.search import vectors
    from memex.store.search.hybrid import token_states

    has_vectors = opened.database.has_vectors
    states = await token_states.drop(opened.database, model)
    if not has_vectors and not states:
        opened.require_vectors()
    dropped = (await vectors.drop(opened.database, model) if has_vectors else 0) or states
    if not dropped:
        async with opened.database.maintenance() as connection:
            there = [stored.model for stored in await vectors.status(connection, None)]
        raise ValidationFailed(
            f"There are no vectors of {model!r}.",
            hint=f"There are those of {', '.join(there)}." if there else "There are none of any model.",
        )
    return CommandOutput(
        {"model": model, "vectors": dropped},
        lambda screen: screen.line(f"{format_count(dropped, 'vector')} of {model} removed."),
    )


@index_command
async def build_hnsw(
    opened: IndexDatabase,
    model: Model = None,
    vectors: Annotated[
        int | None,
        typer.Option(
            min=1, help="Build indexes for scopes with at least this many vectors; 50,000 by default."
        ),
    ] = None,
) -> CommandOutput:
    """Build approximate vector indexes (HNSW) for very large scopes, as backfill does.

    Reads and writes continue during the build.
    """
    from memex.store.search import vector_indexes

    opened.require_vectors()
    name = opened.embedder(model).name
    least = vectors or vector_indexes.LARGE_SCOPE
    built = await vector_indexes.build_indexes(opened.database, name, from_vectors=least)
    nothing = f"Nothing to build: no scope without one has {least:,} vectors of {name}."
    return CommandOutput(
        {"model": name, "built": built},
        lambda screen: screen.line(f"{built:,} built." if built else nothing),
    )


async def _stale(connection: "Connection") -> dict[str, Any]:
    """Return how many scopes another version indexed, and the first of them."""
    from memex.store.upkeep import reindex

    found = await reindex.scopes(connection, only_stale=True, limit=SHOWN_SCOPES)
    return {
        "stale_scopes": await reindex.count_stale(connection),
        "stale": [_scope_document(scope) | {"analyzer": scope.analyzer} for scope in found],
    }


async def _rebuild(
    opened: IndexDatabase, chosen: ScopeSelection, language: str | None, *, only_stale: bool
) -> CommandOutput:
    from time import perf_counter

    from memex.store.upkeep import reindex

    if language is not None:
        reindex.check_language(language)
    async with opened.database.maintenance() as connection:
        if chosen.tenant and not await reindex.scopes(connection, **asdict(chosen), limit=1):
            raise ValidationFailed(
                f"There is no {chosen.name}.",
                hint="`memex conversations ingest` imports conversations."
                if chosen.kind == "conversations"
                else "A user is known from the first write on; `memex projects list` shows projects.",
            )
        wanted = await reindex.scopes(connection, **asdict(chosen), only_stale=only_stale, language=language)
    started = perf_counter()
    rebuilt = []
    with counting_bar("Indexing", sum(scope.files for scope in wanted)) as on_files:
        for scope in wanted:
            done = await reindex.rebuild(
                opened.database,
                scope.scope_id,
                language=language,
                only_stale=only_stale,
                on_files=on_files,
            )
            if done is not None:
                rebuilt.append(_scope_document(scope) | asdict(done))
    document = {"scopes": rebuilt, "seconds": round(perf_counter() - started, 3)}
    return CommandOutput(document, lambda screen: show_rebuilt(screen, document))


def _scope_document(scope: "IndexedScope") -> dict[str, Any]:
    return {name: getattr(scope, name) for name in ("tenant", "kind", "key", "language", "files")}


def _conversations(tenant: str | None, user: str | None) -> ScopeSelection:
    return ScopeSelection(tenant or ("default" if user is not None else None), "conversations", user)


async def _embed(
    opened: IndexDatabase,
    model: str | None,
    scopes: "Sequence[IndexedScope] | None" = None,
    since: datetime | None = None,
) -> CommandOutput:
    """Embed what has no vector: of some scopes of conversations, or of all that is embedded by itself."""
    from memex.service.chunk_embedding import backfill
    from memex.store.search import vector_indexes, vectors
    from memex.wiring import embeds_conversations

    embedder, database = opened.embedder(model), opened.database
    conversations = embeds_conversations(opened.settings, embedder.name)
    try:
        if scopes is None:
            async with database.maintenance() as connection:
                before = await vectors.status(
                    connection,
                    embedder.name,
                    conversations=conversations,
                    has_vectors=database.has_vectors,
                )
            total = next((stored.missing for stored in before if stored.model == embedder.name), 0)
        else:
            total = sum(scope.files for scope in scopes)
        with counting_bar("Embedding", total) as on_texts:
            texts = await backfill(
                database,
                embedder,
                at_once=opened.settings.embedding_workers,
                on_texts=on_texts,
                scope_ids=None if scopes is None else [scope.scope_id for scope in scopes],
                since=since,
                conversations=conversations,
            )
        indexes = await vector_indexes.build_indexes(database, embedder.name) if database.has_vectors else 0
    finally:
        await embedder.close()
    of_what = " of conversations" if scopes is not None else ""
    said = (
        f"{format_count(texts, 'text')}{of_what} embedded by {embedder.name}."
        if texts
        else f"Nothing to embed: {embedder.name} has all{of_what}."
    )
    return CommandOutput(
        {"model": embedder.name, "texts": texts, "indexes": indexes}, lambda screen: screen.line(said)
    )
