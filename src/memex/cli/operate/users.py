"""`memex users`: for whom the service keeps memory."""

from typing import Annotated, Any

import typer

from memex.cli.options import Cursor
from memex.cli.output import Column, CommandOutput, Screen, format_size, format_time
from memex.cli.session.commands import tenant_command
from memex.cli.session.session import CommandSession

MAX_COUNTED_CALLS = 1_000  # of each user; the service counts no further


@tenant_command
async def users(
    session: CommandSession,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="The largest number of users.")] = 100,
    cursor: Cursor = None,
    query: Annotated[str, typer.Option(help="Only users whose id contains this text.")] = "",
) -> CommandOutput:
    """List the users by id: how much each stores, and when the last call for the user was made.

    Over HTTP this needs an administrator's key.
    """
    listed = await session.api.list_users(session.context, limit=limit, cursor=cursor, query=query)
    nobody = "No such user." if query else "No users yet: the first write for a user makes the user."
    return CommandOutput(listed, lambda screen: _show_users(screen, listed, nobody))


def _show_users(screen: Screen, listed: dict[str, Any], nobody: str) -> None:
    if not listed["users"]:
        screen.line((nobody, "dim"))
        return
    columns = [
        Column("user", "bold"),
        Column("files", align="right", whole=True),
        Column("size", align="right", whole=True),
        Column("calls", align="right", whole=True),
        Column("last call"),
        Column("since", "dim"),
    ]
    rows = [
        (
            user["user"],
            user["files"],
            "" if user["bytes"] is None else format_size(user["bytes"]),
            f"{user['calls']:,}+" if user["calls"] >= MAX_COUNTED_CALLS else str(user["calls"]),
            format_time(user["last_call_at"]) if user["last_call_at"] else "",
            format_time(user["created_at"]),
        )
        for user in listed["users"]
    ]
    screen.table(columns, rows)
    screen.more(listed["next_cursor"])
