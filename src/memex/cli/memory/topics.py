"""`memex files topics`: the tags of memory, with how many files bear each."""

from memex.cli.options import Limit
from memex.cli.output import Column, CommandOutput, times
from memex.cli.session.commands import user_command
from memex.cli.session.session import CommandSession

NOTHING = "No tags. A file gets them in its front matter: tags: [adr, storage]."
COLUMNS = [
    Column("tag", "bold"),
    Column("files", align="right", cell=lambda row: f"{row['files']:,}"),
    Column("documents", align="right", cell=lambda row: f"{row['documents']:,}"),
    times("changed", "updated_at", "dim"),
]


@user_command
async def topics(session: CommandSession, limit: Limit = 100) -> CommandOutput:
    """List the tags of files, those of most files first; with --project only those of a project."""
    found = await session.call("memory_topics", {"project": session.project, "limit": limit})
    return CommandOutput(
        found,
        lambda screen: screen.records(found["topics"], COLUMNS, NOTHING),
        is_empty=not found["topics"],
    )
