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

app = typer.Typer(no_args_is_help=True, help="Delete and export imported conversations.")

MAX_SHOWN = 20


@app.command()
@user_command
async def delete(
    session: CommandSession,
    conversations: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID...]", help="Conversations, by the ids of `memex timeline`."),
    ] = None,
    source: SourceOption = None,
    before: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Conversations that ended before this time: 90d, 2026-11-22."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Delete them; without it the command only counts.")
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
    }
    receipt = await session.api.conversations.delete(session.context, asked)
    return CommandOutput(receipt, lambda screen: _show_receipt(screen, receipt))


@app.command()
@user_command
async def export(
    session: CommandSession,
    to: Annotated[Path, typer.Argument(metavar="FILE", help="The new file to write, JSON lines.")],
    source: SourceOption = None,
) -> CommandOutput:
    """Export conversations as JSON lines, which `memex ingest` reads back."""
    if to.exists():
        raise ValidationFailed(f"{to} exists already.", hint="Name a new file.")
    api, context = session.api.conversations, session.context
    count, cursor = 0, None
    with to.open("w", encoding="utf-8") as file:
        while True:
            asked = {"source": source, "limit": 1_000, "cursor": cursor}
            page = await api.list(context, asked)
            for one in page["conversations"]:
                document = await _whole(session, one)
                file.write(json.dumps(document, ensure_ascii=False) + "\n")
                count += 1
            cursor = page["next_cursor"]
            if cursor is None:
                break
    done = {"file": str(to), "conversations": count}
    return CommandOutput(
        done,
        lambda screen: screen.line(f"Exported {format_count(count, 'conversation')} to ", (str(to), "bold")),
    )


async def _whole(session: CommandSession, listed: dict[str, Any]) -> dict[str, Any]:
    """Return a conversation with all of its messages, as a line of the export."""
    asked = {"reference": listed["id"], "limit": 1_000, "all_branches": True}
    found = await session.api.conversations.read(session.context, asked)
    messages: list[dict[str, Any]] = found["messages"]
    while found["next_cursor"]:
        found = await session.api.conversations.read(
            session.context, asked | {"cursor": found["next_cursor"]}
        )
        messages += found["messages"]
    return {"memex_conversation": 1, **found["conversation"], "messages": messages}


def _show_receipt(screen: Screen, receipt: dict[str, Any]) -> None:
    told = "Would delete" if receipt["dry_run"] else "Deleted"
    counted = format_count(receipt["conversations"], "conversation")
    screen.line((f"{told} {counted}", "bold"), f" with {format_count(receipt['messages'], 'message')}.")
    if receipt["deleted"]:
        columns = [
            Column("id", "cyan", whole=True),
            Column("title", cut=True),
            Column("messages", align="right"),
        ]
        rows = [(one["id"], one["title"], one["messages"]) for one in receipt["deleted"][:MAX_SHOWN]]
        screen.table(columns, rows)
    if receipt["dry_run"] and receipt["conversations"]:
        screen.line(("Nothing was deleted. Add --yes to delete them.", "dim"))
