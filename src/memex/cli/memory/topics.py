"""`memex topics`: the tags of memory, with how many files bear each."""

from typing import Any

from memex.cli.options import Limit
from memex.cli.output import Column, CommandOutput, Screen, format_time
from memex.cli.session.commands import user_command
from memex.cli.session.session import CommandSession


@user_command
async def topics(
    session: CommandSession,
    limit: Limit = 100,
) -> CommandOutput:
    """List the tags of files, those of most files first; with --project only those of a project."""
    found = await session.call("memory_topics", {"project": session.project, "limit": limit})
    return CommandOutput(found, lambda screen: _show(screen, found), is_empty=not found["topics"])


def _show(screen: Screen, found: dict[str, Any]) -> None:
    if not found["topics"]:
        screen.line(("No tags. A file gets them in its front matter: tags: [adr, storage].", "dim"))
        return
    columns = [
        Column("tag", "bold"),
        Column("files", align="right"),
        Column("documents", align="right"),
        Column("changed", "dim"),
    ]
    rows = [
        (one["tag"], f"{one['files']:,}", f"{one['documents']:,}", format_time(one["updated_at"]))
        for one in found["topics"]
    ]
    screen.table(columns, rows)
