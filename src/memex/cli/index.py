"""`memex index`: the vectors of what is kept: how many there are, making those that lack, dropping a model's."""

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memex.cli.options import Json
from memex.cli.output import Column, Screen, Shown, counted, moment, present, reporting
from memex.errors import ValidationFailed

if TYPE_CHECKING:
    from memex.settings import Settings
    from memex.store.database import Database
    from memex.subagent.embedders.embedder import Embedder

app = typer.Typer(no_args_is_help=True, help="See to the vectors of the whole database.")

SHOWN_SCOPES = 200
UNITS = ("B", "KiB", "MiB", "GiB", "TiB")

Model = Annotated[
    str | None,
    typer.Option(help="Another embedder than MEMEX_EMBEDDER, such as openai:MODEL@DIMENSIONS or local."),
]


@dataclass(frozen=True, slots=True)
class Opened:
    """A database, and the settings by which it was opened."""

    settings: "Settings"
    database: "Database"

    def embedder(self, model: str | None) -> "Embedder":
        """Return the embedder that a command works for.

        Raises:
            ValidationFailed: none is named, it is unknown or lacks packages, or the database has no vectors.
        """
        from memex.wiring import embedder_of

        self.require_vectors()
        embedder = embedder_of(self.settings, model)
        if embedder is None:
            raise ValidationFailed(
                "No embedder is set.", hint="Set MEMEX_EMBEDDER, or name one with --model, such as local."
            )
        return embedder

    def require_vectors(self) -> None:
        """Raise ValidationFailed where the database has no vectors."""
        if not self.database.has_vectors:
            raise ValidationFailed(
                "This database holds no vectors: search is by words alone.",
                hint="`memex doctor` says what it needs for them.",
            )


@app.command()
def status(
    *,
    scopes: Annotated[bool, typer.Option("--scopes", help="Show each scope too.")] = False,
    as_json: Json = False,
) -> None:
    """Say how much of all text is embedded, by each model, and how the jobs that do it are getting on."""
    _run(lambda opened: _status(opened, with_scopes=scopes), as_json=as_json)


@app.command()
def backfill(*, model: Model = None, as_json: Json = False) -> None:
    """Embed now what has no vector yet. With --model for another model, while the set one serves."""
    _run(lambda opened: _backfill(opened, model), as_json=as_json)


@app.command()
def drop(
    *,
    model: Annotated[str, typer.Option(help="As `memex index status` names it.")],
    as_json: Json = False,
) -> None:
    """Remove all vectors of a model."""
    _run(lambda opened: _drop(opened, model), as_json=as_json)


@app.command("build-hnsw")
def build_hnsw(
    *,
    model: Model = None,
    vectors: Annotated[
        int | None, typer.Option(min=1, help="For scopes with at least so many; 50,000 by default.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Make approximate indexes for very large scopes, as backfill does. Others read and write meanwhile."""
    _run(lambda opened: _build_hnsw(opened, model, vectors), as_json=as_json)


def _run(work: Callable[[Opened], Awaitable[Shown]], *, as_json: bool) -> None:
    import asyncio
    import os
    import signal

    # At once and without a word; what was embedded stays, and the rest is found again.
    signal.signal(signal.SIGINT, lambda *_: os._exit(128 + signal.SIGINT))
    with reporting(as_json=as_json):
        shown = asyncio.run(_opened(work))
    present(shown, as_json=as_json)


async def _opened(work: Callable[[Opened], Awaitable[Shown]]) -> Shown:
    async with _open() as opened:
        return await work(opened)


@asynccontextmanager
async def _open() -> AsyncIterator[Opened]:
    import asyncio
    import gc

    from memex import logging, postgres
    from memex.settings import read_settings

    settings = read_settings()
    # A line for each batch would go through the bar.
    logging.configure("warning" if sys.stderr.isatty() else settings.log_level)
    started = postgres.start_in_background(settings)
    from memex.store.database import Database  # loads while the database starts

    gc.enable()
    with closing(await asyncio.wrap_future(started)) as ready:
        database = await Database.open(ready.conninfo, max_connections=settings.max_connections)
        try:
            yield Opened(settings, database)
        finally:
            await database.close()


async def _status(opened: Opened, *, with_scopes: bool) -> Shown:
    from memex.store import vectors
    from memex.wiring import embedder_of

    embedder = embedder_of(opened.settings)
    current = embedder.name if embedder else None
    document: dict[str, Any] = {
        "vectors": opened.database.has_vectors,
        "embedder": current,
        "search_mode": opened.settings.search_mode,
    }
    if not opened.database.has_vectors:
        return Shown(document | {"models": [], "jobs": {}}, _show_nothing)
    async with opened.database.maintenance() as connection:
        models = await vectors.status(connection, current)
        found = await vectors.job_status(connection, "embed_scope")
        scopes = (
            await vectors.scope_status(connection, current, limit=SHOWN_SCOPES)
            if with_scopes and current
            else []
        )
    jobs = {
        "waiting": found.get("todo", 0),
        "running": found.get("doing", 0),
        "failed": found.get("failed", 0),
    }
    document |= {
        "models": [
            asdict(one)
            | {
                "missing": one.missing,
                "failed_at": one.failed_at.isoformat() if one.failed_at else None,
                "is_current": one.model == current,
            }
            for one in models
        ],
        "jobs": jobs,
    }
    if with_scopes:
        document["scopes"] = [
            asdict(one) | {"embedded_at": one.embedded_at.isoformat() if one.embedded_at else None}
            for one in scopes
        ]
    return Shown(document, lambda screen: _show_status(screen, document))


async def _backfill(opened: Opened, model: str | None) -> Shown:
    from memex.service.embedding import backfill
    from memex.store import vectors

    embedder = opened.embedder(model)
    try:
        async with opened.database.maintenance() as connection:
            before = await vectors.status(connection, embedder.name)
        missing = next((one.missing for one in before if one.model == embedder.name), 0)
        with _progress(missing) as on_texts:
            texts = await backfill(
                opened.database, embedder, at_once=opened.settings.embedding_workers, on_texts=on_texts
            )
        indexes = await vectors.build_indexes(opened.database, embedder.name)
    finally:
        await embedder.close()
    return Shown(
        {"model": embedder.name, "texts": texts, "indexes": indexes},
        lambda screen: screen.line(
            f"{counted(texts, 'text')} embedded by {embedder.name}."
            if texts
            else f"Nothing to embed: {embedder.name} has all."
        ),
    )


async def _drop(opened: Opened, model: str) -> Shown:
    from memex.store import vectors

    opened.require_vectors()
    dropped = await vectors.drop(opened.database, model)
    return Shown(
        {"model": model, "vectors": dropped},
        lambda screen: screen.line(f"{counted(dropped, 'vector')} of {model} removed."),
    )


async def _build_hnsw(opened: Opened, model: str | None, from_vectors: int | None) -> Shown:
    from memex.store import vectors

    name = opened.embedder(model).name
    least = from_vectors or vectors.LARGE_SCOPE
    built = await vectors.build_indexes(opened.database, name, from_vectors=least)
    return Shown(
        {"model": name, "built": built},
        lambda screen: screen.line(
            f"{built:,} built."
            if built
            else f"Nothing to build: no scope without one has {least:,} vectors of {name}."
        ),
    )


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    """A bar on stderr, where that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("Embedding"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda texts: bar.update(task, advance=texts)


def _show_nothing(screen: Screen) -> None:
    screen.line("This database holds no vectors: search is by words alone.")
    screen.line(("`memex doctor` says what it needs for them.", "dim"))


def _show_status(screen: Screen, document: dict[str, Any]) -> None:
    embedder = document["embedder"] or "none (MEMEX_EMBEDDER is not set)"
    screen.line(("embedder  ", "dim"), embedder)
    screen.line(("search    ", "dim"), document["search_mode"])
    jobs = document["jobs"]
    screen.line(
        ("jobs      ", "dim"),
        f"{jobs['waiting']:,} waiting, {jobs['running']:,} running, ",
        (f"{jobs['failed']:,} given up", "red" if jobs["failed"] else ""),
    )
    screen.line()
    if document["models"]:
        screen.table(
            [
                Column("model", "bold"),
                Column("chunks", align="right", whole=True),
                Column("embedded", align="right", whole=True),
                Column("missing", align="right", whole=True),
                Column("size", align="right", whole=True),
                Column("indexes", align="right", whole=True),
                Column("last error", "red"),
            ],
            [_model_row(model) for model in document["models"]],
        )
    else:
        screen.line(("Nothing is embedded.", "dim"))
    if document.get("scopes"):
        screen.line()
        screen.table(
            [
                Column("tenant"),
                Column("scope", "bold"),
                Column("chunks", align="right", whole=True),
                Column("embedded", align="right", whole=True),
                Column("when", "dim"),
                Column("error", "red"),
            ],
            [
                (
                    scope["tenant"],
                    f"{scope['kind']} {scope['key']}".strip(),
                    f"{scope['chunks']:,}",
                    f"{scope['embedded']:,}",
                    moment(scope["embedded_at"]) if scope["embedded_at"] else "",
                    scope["error"] or "",
                )
                for scope in document["scopes"]
            ],
        )


def _model_row(model: dict[str, Any]) -> tuple[Any, ...]:
    error = ""
    if model["error"]:
        error = f"{model['error']}, {moment(model['failed_at'])}, {counted(model['failed_scopes'], 'scope')}"
    return (
        model["model"],
        f"{model['chunks']:,}",
        f"{model['embedded']:,}",
        (f"{model['missing']:,}", "yellow" if model["missing"] and model["is_current"] else ""),
        _size(model["size_bytes"]),
        model["indexes"],
        error,
    )


def _size(size_bytes: int) -> str:
    size, unit = float(size_bytes), 0
    while size >= 1024 and unit < len(UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:.0f} {UNITS[unit]}" if unit == 0 else f"{size:.1f} {UNITS[unit]}"
