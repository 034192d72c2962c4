"""`memex review`: what waits for a person, and what a person decides about it."""

from typing import Annotated, Any, Literal

import typer

from memex.cli.options import Cursor
from memex.cli.output import CommandOutput, Screen, format_count, format_time
from memex.cli.session.commands import user_command
from memex.cli.session.session import CommandSession

TITLES = {
    "rival": "may contradict a newer statement",
    "forget": "may be meant by a request to forget",
    "secret": "looks like a secret",
    "queue": "was given up in the queue",
}


@user_command
async def list_waiting(
    session: CommandSession,
    kind: Annotated[
        Literal["rival", "forget", "secret", "queue"] | None, typer.Option(help="Only items of this kind.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=500, help="The largest number of results.")] = 50,
    cursor: Cursor = None,
) -> CommandOutput:
    """List what waits for a person, the newest first.

    These are statements that probably contradict newer ones, statements that a request to forget may mean,
    secrets in files, and queued texts that were given up.
    """
    found = await session.call("review_list", {"kind": kind, "limit": limit, "cursor": cursor})
    return CommandOutput(found, lambda screen: _show_waiting(screen, session, found))


@user_command
async def decide(
    session: CommandSession,
    decision: Annotated[
        Literal["keep", "apply", "reopen"],
        typer.Argument(
            help="keep: both statements are true, or leave it as it is. "
            "apply: take the older statement or the secret out, or try the text again. "
            "reopen: list again what was kept."
        ),
    ],
    items: Annotated[
        list[str], typer.Argument(metavar="ID...", help="The ids that `memex review list` shows.")
    ],
) -> CommandOutput:
    """Decide about items of the list."""
    decisions = [{"id": item, "decision": decision} for item in dict.fromkeys(items)]
    done = await session.call("review_decide", {"decisions": decisions})
    return CommandOutput(done, lambda screen: _show_decided(screen, session, done))


def _show_waiting(screen: Screen, session: CommandSession, found: dict[str, Any]) -> None:
    if not found["items"]:
        screen.line(("Nothing waits for a decision.", "dim"))
        return
    for item in found["items"]:
        where = f"  {item['path']}@{item['version']}" if item["path"] else f"  call {item['tool_call_id']}"
        screen.line((item["id"], "bold"), where, (f"  {format_time(item['since'])}", "dim"))
        screen.paragraph((f"  {TITLES[item['kind']]}: ", "yellow"), item["text"] or item["detail"] or "")
        if item["kind"] == "forget" and item["detail"]:
            screen.paragraph(("  request: ", "dim"), item["detail"])
        if item["newer"]:
            screen.paragraph(("  newer: ", "dim"), item["newer"])
        screen.line()
    screen.more(found["next_cursor"])
    if not found["is_complete"]:
        screen.line(("Only the newest calls were looked at: older ones may have left more.", "yellow"))
    if any(item["newer"] for item in found["items"]):
        screen.line(("Both are true: ", "dim"), session.command("review", "decide", "keep", "ID..."))
        screen.line(
            ("Take the older one out: ", "dim"), session.command("review", "decide", "apply", "ID...")
        )
    else:
        screen.line(("To decide: ", "dim"), session.command("review", "decide", "keep|apply", "ID..."))


def _show_decided(screen: Screen, session: CommandSession, done: dict[str, Any]) -> None:
    settled = [item for item in done["items"] if item["status"] == "done"]
    gone = len(done["items"]) - len(settled)
    screen.line((f"{format_count(len(settled), 'item')} decided.", "bold"))
    if gone:
        screen.line(f"{format_count(gone, 'item')} did not wait any more, and nothing happened.")
    calls = dict.fromkeys(item["tool_call_id"] for item in settled if item["undo"] == "revert")
    for call in calls:
        screen.line(("To undo: ", "dim"), session.command("revert", call))
    kept = [item["id"] for item in settled if item["undo"] == "reopen"]
    if kept:
        screen.line(("To list again: ", "dim"), session.command("review", "decide", "reopen", *kept))
