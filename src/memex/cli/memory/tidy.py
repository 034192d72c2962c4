"""`memex files tidy`: put the statements of memory under the headings that they name."""

from typing import Annotated, Any

import typer

from memex.cli.output import CommandOutput, Screen, format_count
from memex.cli.session.commands import user_command
from memex.cli.session.session import CommandSession


@user_command
async def tidy(
    session: CommandSession,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be written.")] = False,
) -> CommandOutput:
    """Put the statements of older files under the headings that they name, as new ones are. No word is changed.

    With --project, the files of the project are regrouped, and otherwise those of the user. All are written in one
    call, and `memex revert` undoes it.
    """
    done = await session.call("memory_tidy", {"project": None, "dry_run": dry_run})
    return CommandOutput(done, lambda screen: _show(screen, session, done))


def _show(screen: Screen, session: CommandSession, done: dict[str, Any]) -> None:
    files = format_count(len(done["writes"]), "file")
    would = "would be " if done["status"] == "dry_run" else ""
    screen.line((f"{files} {would}regrouped" if done["writes"] else "Everything is tidy.", "bold"))
    screen.writes(done["writes"])
    if done["status"] == "committed":
        screen.line()
        screen.line(("To undo: ", "dim"), session.command("revert", done["tool_call_id"]))
