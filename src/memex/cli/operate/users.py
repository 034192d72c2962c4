"""`memex users`: for whom the service keeps memory."""

from typing import Annotated, Any

import typer

from memex.cli.options import Cursor
from memex.cli.output import Column, CommandOutput, Screen, format_time
from memex.cli.session.commands import tenant_command
from memex.cli.session.session import CommandSession


@tenant_command
async def users(
    session: CommandSession,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="The largest number of users.")] = 100,
    cursor: Cursor = None,
) -> CommandOutput:
    """List the users by id: how many files each has, and when the last call for the user was made.

    Over HTTP this needs an administrator's key.
    """
    listed = await session.api.list_users(session.context, limit=limit, cursor=cursor)
    return CommandOutput(listed, lambda screen: _show_users(screen, listed))


def _show_users(screen: Screen, listed: dict[str, Any]) -> None:
    if not listed["users"]:
        screen.line(("No users yet: the first write for a user makes the user.", "dim"))
        return
    columns = [
        Column("user", "bold"),
        Column("files", align="right", whole=True),
        Column("last call"),
        Column("since", "dim"),
    ]
    rows = [
        (
            user["user"],
            user["files"],
            format_time(user["last_call_at"]) if user["last_call_at"] else "",
            format_time(user["created_at"]),
        )
        for user in listed["users"]
    ]
    screen.table(columns, rows)
    screen.more(listed["next_cursor"])
