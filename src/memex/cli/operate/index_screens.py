"""Screens of the commands of `memex index`, made from the documents that `--json` prints."""

from typing import Any

from memex.cli.output import Column, Screen, format_count, format_time, numbers, times
from memex.service.health.sizes import format_size

REBUILD = "memex index rebuild --only-stale"


def _missing(model: dict[str, Any]) -> tuple[str, str]:
    return f"{model['missing']:,}", "yellow" if model["missing"] and model["is_current"] else ""


def _error(model: dict[str, Any]) -> str:
    if not model["error"]:
        return ""
    return f"{model['error']}, {format_time(model['failed_at'])}, {format_count(model['failed_scopes'], 'scope')}"


SCOPE = Column("scope", "bold", cell=lambda scope: f"{scope['kind']} {scope['key']}".strip())
STALE = [
    Column("tenant"),
    SCOPE,
    Column("language"),
    numbers("texts", "files"),
    Column("made by", "dim", cell="analyzer"),
]
MODELS = [
    Column("model", "bold"),
    numbers("chunks"),
    numbers("embedded"),
    Column("missing", align="right", whole=True, cell=_missing),
    Column("size", align="right", whole=True, cell=lambda model: format_size(model["size_bytes"])),
    Column("token states", align="right", whole=True, cell=lambda model: format_size(model["state_bytes"])),
    numbers("indexes"),
    Column("last error", "red", cell=_error),
]
SCOPES = [
    Column("tenant"),
    SCOPE,
    numbers("chunks"),
    numbers("embedded"),
    times("when", "embedded_at", "dim"),
    Column("error", "red"),
]


def show_rebuilt(screen: Screen, document: dict[str, Any]) -> None:
    """Show which scopes were indexed anew."""
    scopes = document["scopes"]
    if not scopes:
        screen.line("Nothing to rebuild: all was indexed by this version, in its language.")
        return
    chunks = sum(scope["chunks"] for scope in scopes)
    messages = sum(scope["files"] for scope in scopes if scope["kind"] == "conversations")
    files = sum(scope["files"] for scope in scopes) - messages
    counted = [format_count(files, "file")] if files or not messages else []
    counted += [format_count(messages, "message")] if messages else []
    where = f"{' and '.join(counted)} in {format_count(len(scopes), 'scope')}"
    screen.line(f"{where} indexed anew in {document['seconds']:,.1f} s: {format_count(chunks, 'chunk')}.")


def _show_stale(screen: Screen, document: dict[str, Any]) -> None:
    if not document["stale_scopes"]:
        screen.line(("index     ", "dim"), "made by this version")
        return
    screen.line(
        ("index     ", "dim"),
        (f"{format_count(document['stale_scopes'], 'scope')} made by another version", "yellow"),
        f": {REBUILD}",
    )
    screen.records(document["stale"], STALE)
    screen.line()


def show_backfill(screen: Screen, asked: dict[str, Any]) -> None:
    """Show how far the embedding of a user's texts is at a service."""
    for one in asked["coverage"]:
        said = f"{one['embedded']:,} of {one['passages']:,} passages of {one['kind']} embedded by {asked['model']}"
        screen.line(said)
    if asked["is_queued"]:
        screen.line(
            ("The service embeds the rest in the background. Run this again to see how far it is.", "dim")
        )
    else:
        screen.line(("Nothing to embed.", "dim"))


def show_without_vectors(screen: Screen, document: dict[str, Any]) -> None:
    """Show the state of the index of a database that holds no vectors."""
    _show_stale(screen, document)
    screen.line("This database holds no vectors: search is by words alone.")
    screen.line(("`memex doctor` says what it needs for them.", "dim"))


def show_status(screen: Screen, document: dict[str, Any]) -> None:
    """Show the state of the index, of the vectors of each model, and of the jobs."""
    _show_stale(screen, document)
    embedder = document["embedder"] or "none (MEMEX_EMBEDDER=none, or the extra local-embeddings is missing)"
    screen.line(("embedder  ", "dim"), embedder)
    screen.line(("search    ", "dim"), document["search_mode"])
    if not document["vectors"]:
        screen.line(
            ("vectors   ", "dim"), "no pgvector here: only what words find is compared by token states"
        )
    jobs = document["jobs"]
    screen.line(
        ("jobs      ", "dim"),
        f"{jobs['waiting']:,} waiting, {jobs['running']:,} running, ",
        (f"{jobs['failed']:,} given up", "red" if jobs["failed"] else ""),
    )
    if document["seconds_left"]:
        screen.line(("left      ", "dim"), f"about {_duration(document['seconds_left'])} of embedding")
    screen.line()
    screen.records(document["models"], MODELS, "Nothing is embedded.")
    if document.get("scopes"):
        screen.line()
        screen.records(document["scopes"], SCOPES)


def _duration(seconds: int) -> str:
    """Return a time as somebody says it who estimates."""
    if seconds < 100:
        return format_count(seconds, "second")
    minutes = round(seconds / 60)
    return format_count(minutes, "minute") if minutes < 100 else format_count(round(minutes / 60), "hour")
