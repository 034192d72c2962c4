"""`memex conversations delete` and `export`."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from memex.cli.conversations.options import SourceOption, parse_moment
from memex.cli.output import Column, CommandOutput, Screen, format_count
from memex.cli.session.commands import user_command
from memex.cli.session.session import CommandSession
from memex.errors import ValidationFailed

MAX_SHOWN = 20


@user_command
async def delete(
    session: CommandSession,
    conversations: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID...]", help="Conversations, by the ids of `memex conversations timeline`."
        ),
    ] = None,
    source: SourceOption = None,
    before: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Conversations that ended before this time: 90d, 2026-11-22."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Delete them; without it the command only counts.")
    ] = False,
    with_memory: Annotated[
        bool,
        typer.Option(
            "--with-memory", help="Also take the statements out of memory that were taken from them alone."
        ),
    ] = False,
) -> CommandOutput:
    """Delete conversations with all that is derived of them, and print a receipt.

    They do not return with the next import, unless it is run with --again.
    """
    asked = {
        "conversations": conversations or None,
        "source": source,
        "before": parse_moment(before, "--before"),
        "dry_run": not yes,
        "with_memory": with_memory,
    }
    receipt = await session.call("conversation_delete", asked)
    return CommandOutput(
        receipt, lambda screen: _show_receipt(screen, session, receipt, with_memory=with_memory)
    )


@user_command
async def export(
    session: CommandSession,
    to: Annotated[Path, typer.Argument(metavar="FILE", help="The new file to write, JSON lines.")],
    source: SourceOption = None,
) -> CommandOutput:
    """Export conversations as JSON lines, which `ingest` reads back."""
    if to.exists():
        raise ValidationFailed(f"{to} exists already.", hint="Name a new file.")
    ids = await _ids(session, source)
    with to.open("w", encoding="utf-8") as file:
        for conversation_id in ids:
            document = await _whole(session, conversation_id)
            file.write(json.dumps(document, ensure_ascii=False) + "\n")
    count = len(ids)
    done = {"file": str(to), "conversations": count}
    return CommandOutput(
        done,
        lambda screen: screen.line(f"Exported {format_count(count, 'conversation')} to ", (str(to), "bold")),
    )


async def _ids(session: CommandSession, source: str | None) -> list[str]:
    """Return the ids of the conversations, the oldest first: an order in which nothing of their import shows."""
    found = [
        (conversation["last_at"] or "", conversation["id"])
        async for page in session.pages("conversation_list", {"source": source, "limit": 1_000})
        for conversation in page["conversations"]
    ]
    return [conversation_id for _, conversation_id in sorted(found)]


async def _whole(session: CommandSession, conversation_id: str) -> dict[str, Any]:
    """Return a conversation with all of its messages, as a line of the export."""
    asked = {"reference": conversation_id, "limit": 1_000, "all_branches": True}
    pages = [page async for page in session.pages("conversation_read", asked)]
    messages = [message for page in pages for message in page["messages"]]
    return {"memex_conversation": 1, **pages[-1]["conversation"], "messages": messages}


def _show_statements(
    screen: Screen, session: CommandSession, receipt: dict[str, Any], *, with_memory: bool
) -> None:
    """Print the statements of memory that rest on the conversations, and what becomes of them."""
    columns = [
        Column("statement in memory", cut=True, cell="text"),
        Column("stands in", "dim", cell=lambda statement: f"{statement['path']}#{statement['line']}"),
    ]
    screen.records(receipt["statements"][:MAX_SHOWN], columns)
    if receipt["memory_call"]:
        undo = session.command("revert", receipt["memory_call"])
        screen.line(("They were taken out of memory. To undo that: ", "dim"), undo)
    elif receipt["dry_run"] and with_memory:
        screen.line(("They would be taken out of memory.", "dim"))
    elif receipt["dry_run"]:
        screen.line(("They stay in memory, unless you add --with-memory.", "dim"))
    else:
        screen.line(("They stay in memory, without their evidence.", "dim"))


def _show_receipt(
    screen: Screen, session: CommandSession, receipt: dict[str, Any], *, with_memory: bool
) -> None:
    told = "Would delete" if receipt["dry_run"] else "Deleted"
    counted = format_count(receipt["conversations"], "conversation")
    screen.line((f"{told} {counted}", "bold"), f" with {format_count(receipt['messages'], 'message')}.")
    if receipt["deleted"]:
        columns = [
            Column("id", "cyan", whole=True),
            Column("title", cut=True),
            Column("messages", align="right"),
        ]
        screen.records(receipt["deleted"][:MAX_SHOWN], columns)
    if receipt.get("statements"):
        _show_statements(screen, session, receipt, with_memory=with_memory)
    if receipt["dry_run"] and receipt["conversations"]:
        screen.line(("Nothing was deleted. Add --yes to delete them.", "dim"))
