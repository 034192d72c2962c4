"""`memex files folders` and `memex files links`: where the files of memory are, and how they are connected."""

from typing import Annotated, Any, Literal

import typer

from memex.cli.options import AsOf, Cursor, Limit, PathArgument
from memex.cli.output import Column, CommandOutput, Screen, format_time
from memex.cli.session.commands import user_command
from memex.cli.session.session import CommandSession

LINKS = [
    Column("from", "bold", cell="source"),
    Column("to", cell=lambda link: f"{link['target']}{'' if link['exists'] else ' (no such file)'}"),
    Column("heading", cut=True),
    Column("hop", align="right"),
]
CHANGES = [
    Column("at", whole=True),
    Column("mount", "bold"),
    Column("change", align="right", cell="rev"),
    Column("by", cut=True, cell="actor"),
    Column(
        "files",
        cell=lambda row: f"{row['path']} and {row['files'] - 1:,} more" if row["files"] != 1 else row["path"],
    ),
]


@user_command
async def folders(
    session: CommandSession,
    prefix: Annotated[str, typer.Argument(help="Look below this folder, such as user/notes/.")] = "",
    kind: Annotated[
        str | None,
        typer.Option(
            help="Show only files of statements of this kind: profile, preferences, decisions, goals, tasks or "
            "notes; or all other files: other."
        ),
    ] = None,
    tag: Annotated[str | None, typer.Option(help="Show only files with this tag.")] = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="ACTOR", help="Show only files whose newest version this actor wrote."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Show only files that changed since, such as 2026-11-22T00:00:00Z."
        ),
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="Show only files that changed before this time.")
    ] = None,
    pinned: Annotated[bool, typer.Option("--pinned", help="Show only pinned files.")] = False,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> CommandOutput:
    """Show mounts and folders with the number of their files, and the files that pass filters."""
    asked = {"prefix": prefix, "kind": kind, "tag": tag, "actor": by, "since": since, "until": until}
    found = await session.call("memory_browse", asked | {"pinned": pinned, "limit": limit, "cursor": cursor})
    return CommandOutput(found, lambda screen: _show_folders(screen, found, prefix))


@user_command
async def links(
    session: CommandSession,
    path: PathArgument,
    direction: Annotated[
        Literal["out", "in", "both"],
        typer.Option(help="Show links from the file, links to the file, or both."),
    ] = "both",
    depth: Annotated[int, typer.Option(min=1, max=5, help="How many links to follow one after another.")] = 1,
    as_of: AsOf = None,
) -> CommandOutput:
    """Show the links from a file and to a file, the nearest first."""
    asked = {"path": path, "direction": direction, "depth": depth, "as_of": as_of}
    found = await session.execute("memory_links", asked)
    return CommandOutput(
        found, lambda screen: screen.records(found["links"], LINKS, "No links."), is_empty=not found["links"]
    )


@user_command
async def changes(
    session: CommandSession,
    limit: Limit = 20,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Show only changes before this time, such as 2026-11-22T00:00:00Z."
        ),
    ] = None,
) -> CommandOutput:
    """Show the newest changes of all mounts. --as-of with the time of one shows memory as it was then."""
    found = await session.call("memory_changes", {"limit": limit, "until": until})
    return CommandOutput(
        found,
        lambda screen: screen.records(found["changes"], CHANGES, "No changes."),
        is_empty=not found["changes"],
    )


def _show_folders(screen: Screen, found: dict[str, Any], prefix: str) -> None:
    columns = [
        Column("path", "bold"),
        Column("files", align="right", whole=True),
        Column("changed", "dim"),
        Column("by", cut=True),
    ]
    rows = [
        (folder["path"], f"{folder['files']:,}", format_time(folder["updated_at"]), "")
        for folder in (found["folders"] if prefix else found["mounts"])
        if folder["files"]
    ]
    rows += [
        (file["path"], "pinned" if file["pinned"] else "", format_time(file["updated_at"]), file["actor"])
        for file in found["files"]
    ]
    if not rows:
        screen.line(("No files.", "dim"))
        return
    screen.table(columns, rows)
    screen.more(found["next_cursor"])
