"""What the commands of `memex index` show on a terminal, from the documents that `--json` prints."""

from typing import Any

from memex.cli.output import Column, Screen, format_count, format_size, format_time

REBUILD = "memex index rebuild --only-stale"


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
    number = document["stale_scopes"]
    if not number:
        screen.line(("index     ", "dim"), "made by this version")
        return
    screen.line(
        ("index     ", "dim"),
        (f"{format_count(number, 'scope')} made by another version", "yellow"),
        f": {REBUILD}",
    )
    screen.table(
        [
            Column("tenant"),
            Column("scope", "bold"),
            Column("language"),
            Column("texts", align="right", whole=True),
            Column("made by", "dim"),
        ],
        [
            (
                scope["tenant"],
                f"{scope['kind']} {scope['key']}".strip(),
                scope["language"],
                f"{scope['files']:,}",
                scope["analyzer"],
            )
            for scope in document["stale"]
        ],
    )
    screen.line()


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
    if document["models"]:
        screen.table(
            [
                Column("model", "bold"),
                Column("chunks", align="right", whole=True),
                Column("embedded", align="right", whole=True),
                Column("missing", align="right", whole=True),
                Column("size", align="right", whole=True),
                Column("token states", align="right", whole=True),
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
                    format_time(scope["embedded_at"]) if scope["embedded_at"] else "",
                    scope["error"] or "",
                )
                for scope in document["scopes"]
            ],
        )


def _duration(seconds: int) -> str:
    """Return a time as somebody says it who estimates."""
    if seconds < 100:
        return format_count(seconds, "second")
    minutes = round(seconds / 60)
    return format_count(minutes, "minute") if minutes < 100 else format_count(round(minutes / 60), "hour")


def _model_row(model: dict[str, Any]) -> tuple[Any, ...]:
    error = ""
    if model["error"]:
        scopes = format_count(model["failed_scopes"], "scope")
        error = f"{model['error']}, {format_time(model['failed_at'])}, {scopes}"
    return (
        model["model"],
        f"{model['chunks']:,}",
        f"{model['embedded']:,}",
        (f"{model['missing']:,}", "yellow" if model["missing"] and model["is_current"] else ""),
        format_size(model["size_bytes"]),
        format_size(model["state_bytes"]),
        model["indexes"],
        error,
    )
