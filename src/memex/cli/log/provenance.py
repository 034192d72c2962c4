"""`memex files blame` and `memex log seen`: who wrote each line of a file, and which calls saw which version."""

import re
from typing import Annotated, Any

import typer

from memex.cli.options import Cursor, PathArgument
from memex.cli.output import Column, CommandOutput, Screen, format_count, times
from memex.cli.session.commands import user_command
from memex.cli.session.session import CommandSession
from memex.errors import ValidationFailed

SHOWN_WRITES = 3


@user_command
async def blame(
    session: CommandSession,
    path: PathArgument,
    version: Annotated[int | None, typer.Option(min=1, help="The number of an earlier version.")] = None,
) -> CommandOutput:
    """Show each line of a file with the version that added it, the tool call, the author and the time.

    As in git, a line that was removed and added again belongs to the version that added it again, even if that
    version restored an older one.
    """
    document = await session.call("memory_blame", {"path": path, "version": version})
    return CommandOutput(document, lambda screen: _show_blame(screen, document))


@user_command
async def seen(
    session: CommandSession,
    revision: Annotated[
        str | None,
        typer.Argument(
            metavar="[PATH[@VERSION]]",
            help="Show which calls saw this version of a file; without a version, the newest.",
        ),
    ] = None,
    call: Annotated[
        str | None, typer.Option(metavar="TOOL_CALL_ID", help="Show instead which versions this call saw.")
    ] = None,
    everyone: Annotated[
        bool,
        typer.Option(
            "--everyone", help="Show calls of all users of the tenant, for a file in shared/ or in a project."
        ),
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=500, help="The largest number of calls.")] = 50,
    cursor: Cursor = None,
) -> CommandOutput:
    """Show which calls saw a version of a file, how, and what they wrote; or show what one call saw."""
    if (revision is None) == (call is None):
        raise ValidationFailed("Name a file as PATH or PATH@VERSION, or a call with --call.")
    if call is not None:
        document = await session.call("seen_revisions", {"tool_call_id": call})
        return CommandOutput(document, lambda screen: _show_revisions(screen, document))
    path, version = _split(revision or "")
    asking = session.of(None) if everyone else session  # an admin who names no user asks about all users
    listed = await asking.call(
        "seen_calls", {"path": path, "version": version, "limit": limit, "cursor": cursor}
    )
    return CommandOutput(listed, lambda screen: _show_calls(screen, listed, with_user=everyone))


def _split(revision: str) -> tuple[str, int | None]:
    """Return the path and the version of a file; None for its newest version."""
    path, at, version = revision.rpartition("@")
    if not at or revision.endswith(".md"):
        return revision, None
    if re.fullmatch(r"[1-9]\d{0,8}", version, re.ASCII) is None:
        raise ValidationFailed(
            f"{revision[:200]!r} is not a version of a file.",
            hint="Write PATH@VERSION, such as user/profile.md@3, or PATH alone for the newest version.",
        )
    return path, int(version)


def _show_blame(screen: Screen, document: dict[str, Any]) -> None:
    by_name = {f"{revision['path']}@{revision['version']}": revision for revision in document["revisions"]}
    columns = [
        Column("line", "dim", align="right", whole=True),
        Column(
            "version",
            "bold",
            cut=True,
            cell=lambda line: f"@{line['version']}" if line["path"] == document["path"] else line["wrote"],
        ),
        Column("tool call", "dim", cut=True, cell="tool_call_id"),
        Column("by", cut=True, cell=lambda line: line["actor"] or line["channel"]),
        times("when", "created_at", "dim", whole=True),
        Column("text", cut=True, cell=lambda line: line["text"].rstrip("\r\n")),
    ]
    lines = [
        by_name[line["wrote"]] | line | {"line": number}
        for number, line in enumerate(document["lines"], start=1)
    ]
    screen.records(lines, columns, "The file is empty.")
    if not document["is_complete"]:
        screen.line(
            ("Lines of the oldest version may be older: the search for their origin ended there.", "yellow")
        )


def _show_calls(screen: Screen, listed: dict[str, Any], *, with_user: bool) -> None:
    columns = [
        times("when", "started_at", "dim", whole=True),
        Column("tool call", "bold", cell="tool_call_id"),
        *([Column("user")] if with_user else []),
        Column("tool", cell=lambda call: call["tool"].removeprefix("memory_")),
        Column("saw it", cut=True, cell=lambda call: ", ".join(call["how"])),
        Column("wrote", cut=True, cell=lambda call: _few(call["writes"])),
    ]
    nothing = f"No call saw {listed['path']}@{listed['version']}."
    screen.records(listed["calls"], columns, nothing, listed["next_cursor"])


def _show_revisions(screen: Screen, document: dict[str, Any]) -> None:
    columns = [
        Column("version", "bold", cell=lambda row: f"{row['path']}@{row['version']}"),
        Column("saw it", cell=lambda row: ", ".join(row["how"])),
    ]
    screen.records(document["revisions"], columns, "The call saw no version of a file.")
    if document["writes"]:
        screen.line(("wrote ", "dim"), ", ".join(document["writes"]))


def _few(writes: list[str]) -> str:
    more = len(writes) - SHOWN_WRITES
    return ", ".join([*writes[:SHOWN_WRITES], *([format_count(more, "more file")] if more > 0 else [])])
