"""`memex secrets scan`: find secrets that are stored already."""

from typing import Annotated, Any

import typer

from memex.cli.output import Column, CommandOutput, Screen, format_count
from memex.cli.session.commands import tenant_command
from memex.cli.session.session import CommandSession

FOUND = 1  # the exit code
MAX_KEPT = 10_000  # places that one run shows
COLUMNS = [
    Column("file", "bold", cell=lambda row: f"{row['path']}@{row['version']}"),
    Column("line", align="right"),
    Column("kind"),
    Column(
        "version",
        "dim",
        cell=lambda row: (
            (f"of {row['user']}, " if row["user"] else "") + ("stands" if row["is_standing"] else "replaced")
        ),
    ),
]


@tenant_command
async def scan(
    session: CommandSession,
    user: Annotated[
        str | None,
        typer.Option(help="Look through what this user may read; by default through the whole tenant."),
    ] = None,
    history: Annotated[
        bool, typer.Option("--history", help="Also look through versions that do not stand any more.")
    ] = False,
) -> CommandOutput:
    """Find secrets that are stored already: path, version, line and kind, never the text.

    The exit code is 1 if there are any.
    """
    found, counted = list[dict[str, Any]](), {"texts": 0, "secrets": 0}
    unread: list[str] = []
    asked = {"all_users": user is None, "history": history}
    async for page in session.of(user).pages("secrets_scan", asked):
        counted["texts"] += page["texts"]
        counted["secrets"] += len(page["secrets"])
        found += page["secrets"][: MAX_KEPT - len(found)]
        unread += page["unread"]
    document = {"counts": counted, "secrets": found, "unread": unread}
    return CommandOutput(
        document, lambda screen: _show(screen, session, document), exit_code=FOUND if found else 0
    )


def _show(screen: Screen, session: CommandSession, document: dict[str, Any]) -> None:
    counts, found = document["counts"], document["secrets"]
    looked = format_count(counts["texts"], "text")
    for path in document["unread"]:
        screen.line((f"{path} takes too long to look through.", "yellow"))
    if not found:
        screen.line(f"No secret found in {looked}.")
        return
    screen.records(found, COLUMNS)
    if counts["secrets"] > len(found):
        screen.line((f"and {counts['secrets'] - len(found):,} more.", "dim"))
    screen.line((f"{format_count(counts['secrets'], 'place')} in {looked}. ", "bold"))
    screen.line("Change each secret where it is used: whoever reads memory may know it.")
    owner = session.of(found[0]["user"] or session.user)
    screen.line(("To take one out: ", "dim"), owner.command("review"))
    screen.line(("To delete a file: ", "dim"), owner.command("files", "delete", found[0]["path"]))
    screen.line("Versions that were replaced or deleted stay stored; they cannot be erased yet.")
