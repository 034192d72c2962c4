"""`memex history`, `diff` and `restore`: the versions of a file."""

from typing import Annotated, Any

import typer

from memex.cli.options import BaseVersion, Cursor, Limit, PathArgument, Reason
from memex.cli.output import Column, CommandOutput, Screen, numbers, times
from memex.cli.session.commands import user_command
from memex.cli.session.session import CommandSession


@user_command
async def history(
    session: CommandSession, path: PathArgument, limit: Limit = 100, cursor: Cursor = None
) -> CommandOutput:
    """List the versions of a file, the newest first."""
    found = await session.execute("memory_history", {"path": path, "limit": limit, "cursor": cursor})
    return CommandOutput(found, lambda screen: _show_history(screen, path, found))


@user_command
async def diff(
    session: CommandSession,
    path: PathArgument,
    from_version: Annotated[
        int | None,
        typer.Argument(
            metavar="[FROM]",
            help="The older version; 0 means an empty file. By default the version before TO.",
        ),
    ] = None,
    to_version: Annotated[
        int | None, typer.Argument(metavar="[TO]", help="The newer version; by default the newest.")
    ] = None,
) -> CommandOutput:
    """Show what changed between two versions of a file."""
    found = await session.execute(
        "memory_diff", {"path": path, "from_version": from_version, "to_version": to_version}
    )
    return CommandOutput(found, lambda screen: _show_diff(screen, found))


@user_command
async def restore(
    session: CommandSession,
    path: PathArgument,
    version: Annotated[int, typer.Argument(help="The version to restore.")],
    reason: Reason = None,
    base_version: BaseVersion = None,
) -> CommandOutput:
    """Restore an earlier version of a file as its newest version. This also restores a deleted file."""
    placed = await session.execute(
        "memory_restore",
        {"path": path, "version": version, "reason": reason, "base_version": base_version},
    )
    return CommandOutput(
        placed,
        lambda screen: screen.line(
            (placed["path"], "bold"), f" restored from version {version} as version {placed['version']}"
        ),
    )


def _show_history(screen: Screen, path: str, found: dict[str, Any]) -> None:
    columns = [
        Column("version", "bold", align="right", whole=True),
        times("when", "created_at", "dim"),
        Column("what", cell=lambda revision: _what(revision, path)),
        numbers("chars", "size_chars"),
        Column("by", cell=lambda revision: revision["actor"] or revision["channel"]),
        Column("tool call", "dim", cell="tool_call_id"),
        Column("reason"),
    ]
    screen.records(found["revisions"], columns, cursor=found["next_cursor"])


def _what(revision: dict[str, Any], path: str) -> str:
    """Return what a revision did, with its path if that is not the requested path."""
    if revision["counterpart"]:
        return f"{revision['operation']} {revision['counterpart']}"
    if revision["path"] != path:
        return f"{revision['operation']} as {revision['path']}"
    return str(revision["operation"])


def _show_diff(screen: Screen, found: dict[str, Any]) -> None:
    if found["diff"]:
        screen.diff(found["diff"])
    else:
        screen.line((f"Versions {found['from_version']} and {found['to_version']} are equal.", "dim"))
