"""`memex work done`, `drop`, `keep`, `pin`, `archive` and so on: what a person decides about an item."""

import re
from datetime import datetime
from typing import Annotated, Any

import typer

from memex.cli.output import CommandOutput, Screen, format_time, shorten
from memex.cli.session.commands import user_command
from memex.cli.session.session import CommandSession

MAX_TEXT = 200
MAX_ID = 40
_ITEM_ID = re.compile(r"[0-9a-z]{10}")

DID = {
    "done": "Done",
    "drop": "Dropped",
    "keep": "Kept",
    "pin": "Pinned",
    "unpin": "Not pinned any more",
    "archive": "Archived",
    "restore": "Restored",
    "leave_out": "Left out of packs",
    "bring_in": "In packs again",
}
METHODS = {"memory": "a file of memory", "label": "its label", "rules": "the rules"}


def _checked_id(given: str) -> str:
    if not _ITEM_ID.fullmatch(given):
        raise typer.BadParameter(
            f"{shorten(given, MAX_ID)!r} is no id of an item. `memex work open` shows the ids: "
            "ten letters and digits."
        )
    return given


ItemArgument = Annotated[
    str,
    typer.Argument(
        metavar="ID", callback=_checked_id, help="The id of an item, as `memex work open` shows it."
    ),
]
UndoOption = Annotated[bool, typer.Option("--undo", help="Take it back.")]


@user_command
async def done(session: CommandSession, item: ItemArgument) -> CommandOutput:
    """Note that an item is done."""
    return await _mark(session, item, "done")


@user_command
async def drop(session: CommandSession, item: ItemArgument) -> CommandOutput:
    """Note that an item will not be done."""
    return await _mark(session, item, "drop")


@user_command
async def keep(session: CommandSession, item: ItemArgument) -> CommandOutput:
    """Remember an item in the memory of its project, with the message that it comes from."""
    return await _mark(session, item, "keep")


@user_command
async def pin(session: CommandSession, item: ItemArgument, undo: UndoOption = False) -> CommandOutput:
    """Name an item first in each pack, for as long as it holds."""
    return await _mark(session, item, "unpin" if undo else "pin")


@user_command
async def leave_out(session: CommandSession, item: ItemArgument, undo: UndoOption = False) -> CommandOutput:
    """Leave an item out of packs; it stays as open as it is."""
    return await _mark(session, item, "bring_in" if undo else "leave_out")


@user_command
async def archive(session: CommandSession, item: ItemArgument) -> CommandOutput:
    """Put an item away: it is not open any more, until it is restored or a person names it again."""
    return await _mark(session, item, "archive")


@user_command
async def restore(session: CommandSession, item: ItemArgument) -> CommandOutput:
    """Take back that an item was done, dropped, archived or ended by hand."""
    return await _mark(session, item, "restore")


@user_command
async def end(
    session: CommandSession,
    item: ItemArgument,
    day: Annotated[
        datetime | None, typer.Argument(metavar="[DAY]", formats=["%Y-%m-%d"], help="The last day, in UTC.")
    ] = None,
    never: Annotated[bool, typer.Option("--never", help="It does not end on a day.")] = False,
) -> CommandOutput:
    """Let an item hold until the end of a day."""
    if never == (day is not None):
        raise typer.BadParameter("Name a day such as 2026-12-01, or give --never.")
    return await _mark(session, item, "end", ends_on=day.date().isoformat() if day else None)


@user_command
async def provenance(session: CommandSession, item: ItemArgument) -> CommandOutput:
    """Show where an item comes from: each text that says it, and what was decided about it."""
    found = await session.without_project().call("work_provenance", _asked(session, item))
    return CommandOutput(found, lambda screen: _show_provenance(screen, found))


def _asked(session: CommandSession, item: str) -> dict[str, Any]:
    return {"id": item, "project": session.project}


async def _mark(
    session: CommandSession, item: str, action: str, *, ends_on: str | None = None
) -> CommandOutput:
    asked = _asked(session, item) | {"action": action, "ends_on": ends_on}
    marked = await session.without_project().call("work_mark", asked)
    ends = f"Ends after {marked['ends_on']}" if marked["ends_on"] else "Does not end on a day"
    did = DID.get(action, ends)

    def show_marked(screen: Screen) -> None:
        screen.line((f"{did}: ", "bold"), marked["text"])
        if marked["path"]:
            screen.line((f"  in {marked['path']}", "dim"))

    return CommandOutput(marked, show_marked)


def _show_provenance(screen: Screen, found: dict[str, Any]) -> None:
    item = found["item"]
    screen.line((f"{item['kind']}, {item['status']}: ", "bold"), shorten(item["text"], MAX_TEXT))
    for mention in found["mentions"]:
        span = f" [{mention['start']}:{mention['end']}]" if mention["start"] is not None else ""
        place = f"  {mention['reference']}{span}"
        read = f", by {METHODS[mention['method']]}"
        screen.line(
            (place, "cyan"),
            (f"  {format_time(mention['at'])[:16]}  {mention['who']} {mention['kind']}{read}", "dim"),
        )
        screen.paragraph(("    ", ""), shorten(mention["text"], MAX_TEXT))
    for decision in found["decided"]:
        day = f" {decision['ends_on']}" if decision["ends_on"] else ""
        at = format_time(decision["at"])[:16]
        screen.line(
            (f"  by hand: {decision['action']}{day}", ""), (f"  {at}  call {decision['tool_call_id']}", "dim")
        )
