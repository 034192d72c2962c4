"""`memex removed`: the lines that were taken out of memory, and putting one back."""

from typing import Annotated, Any, Literal

import typer

from memex.cli.options import Cursor, Limit
from memex.cli.output import CommandOutput, Screen, format_time
from memex.cli.session.commands import user_command
from memex.cli.session.session import CommandSession

TITLES = {
    "replaced": "replaced",
    "closed": "done",
    "forgotten": "forgotten; its history keeps it until that is erased",
    "removed": "taken out by an edit",
}


@user_command
async def removed(
    session: CommandSession,
    put_back: Annotated[
        str | None, typer.Option(metavar="ID", help="Put the line with this id back into its file.")
    ] = None,
    state: Annotated[
        Literal["replaced", "closed", "forgotten", "removed"] | None,
        typer.Option(help="Only lines that were taken out so."),
    ] = None,
    is_all: Annotated[
        bool, typer.Option("--all", help="Also list lines that somebody took out by editing a file.")
    ] = False,
    prefix: Annotated[str, typer.Option(help="Only files whose path begins so.")] = "",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> CommandOutput:
    """List the lines that were taken out of memory.

    The newest come first, and those that were put back are left out. These are lines that newer ones replaced,
    tasks that were done, and what was forgotten on request. With --put-back, put one of them back into its
    file; `memex revert` undoes that.
    """
    if put_back is not None:
        done = await session.execute("memory_put_back", {"id": put_back})
        return CommandOutput(done, lambda screen: _show_put_back(screen, session, done))
    asked = {"state": state, "all": is_all, "prefix": prefix, "limit": limit, "cursor": cursor}
    found = await session.execute("memory_removed", asked)
    return CommandOutput(found, lambda screen: _show_lines(screen, session, found))


def _show_lines(screen: Screen, session: CommandSession, found: dict[str, Any]) -> None:
    if not found["lines"]:
        screen.line(("No line was taken out.", "dim"))
        return
    for line in found["lines"]:
        where = line["path"] if line["file_stands"] else f"{line['path']} (deleted)"
        screen.line((line["id"], "bold"), f"  {where}", (f"  {format_time(line['removed_at'])}", "dim"))
        is_outdated = line["state"] == "replaced" and not line["newer"]  # by its handle
        title = "taken out" if is_outdated else TITLES[line["state"]]
        screen.paragraph((f"  {title}: ", "yellow"), line["text"] or "(erased)")
        if line["newer"]:
            screen.paragraph(("  newer: ", "dim"), line["newer"])
        screen.line((f"  call {line['tool_call_id']}", "dim"))
        screen.line()
    screen.more(found["next_cursor"])
    screen.line(("To put a line back: ", "dim"), session.command("removed", "--put-back", "ID"))


def _show_put_back(screen: Screen, session: CommandSession, done: dict[str, Any]) -> None:
    if done["status"] == "stands":
        screen.line((done["path"], "bold"), " says this already; nothing was written.")
        return
    screen.line((done["path"], "bold"), f" has the line again, as version {done['version']}.")
    if done["restored_words"]:
        screen.line("The words in the journal can be read again too.")
    screen.line(("To undo: ", "dim"), session.command("revert", done["tool_call_id"]))
