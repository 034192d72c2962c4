"""`memex users`: for whom the service keeps memory, and how a user is erased for good."""

from typing import Annotated, Any

import typer

from memex.cli.confirming import UNCONFIRMED, is_confirmed
from memex.cli.options import Cursor
from memex.cli.output import (
    Column,
    CommandOutput,
    Screen,
    format_count,
    format_time,
    numbers,
    times,
)
from memex.cli.session.commands import tenant_command
from memex.cli.session.session import CommandSession
from memex.service.health.sizes import format_size
from memex.store.identity.look_alikes import spelled

MAX_COUNTED_CALLS = 1_000  # of each user; the service counts no further

UserArgument = Annotated[str, typer.Argument(metavar="NAME", help="The id of the user.")]
# What an erasure counts, in the words of `format_count`.
COUNTED = {
    "files": "file",
    "revisions": "stored version",
    "passages": "passage",
    "vectors": "vector",
    "conversations": "conversation",
    "messages": "message",
    "documents": "document",
    "calls": "call",
    "log_rows": "log row",
    "queued": "queued text",
    "prompts": "prompt",
    "keys": "key",
    "memberships": "membership",
    "sessions": "session",
    "quotas": "quota",
}
USERS = [
    Column("user", "bold"),
    numbers("files"),
    Column(
        "size",
        align="right",
        whole=True,
        cell=lambda user: "" if user["bytes"] is None else format_size(user["bytes"]),
    ),
    Column(
        "calls",
        align="right",
        whole=True,
        cell=lambda user: f"{user['calls']:,}{'+' if user['calls'] >= MAX_COUNTED_CALLS else ''}",
    ),
    times("last call", "last_call_at"),
    times("since", "created_at", "dim"),
    Column("looks like", "yellow", cell=lambda user: ", ".join(map(spelled, user["looks_like"]))),
]


@tenant_command
async def list_users(
    session: CommandSession,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="The largest number of users.")] = 100,
    cursor: Cursor = None,
    query: Annotated[str, typer.Option(help="Only users whose id contains this text.")] = "",
) -> CommandOutput:
    """List the users by id: how much each stores, and when the last call for the user was made.

    Over HTTP this needs an administrator's key.
    """
    listed = await session.call("user_list", {"limit": limit, "cursor": cursor, "query": query})
    nobody = "No such user." if query else "No users yet: the first write for a user makes the user."
    return CommandOutput(
        listed, lambda screen: screen.records(listed["users"], USERS, nobody, listed["next_cursor"])
    )


@tenant_command
async def erase(
    session: CommandSession,
    user: UserArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Erase without asking.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would be removed.")] = False,
) -> CommandOutput:
    """Remove a user for good: files with all versions, log, keys and memberships. It cannot be undone.

    What the user wrote in projects and shared files stays, without its author. The same command finishes an erasure
    that was interrupted. Backups are not changed. Over HTTP this needs an administrator's key.
    """
    counted = await session.call("user_erase", {"user": user, "dry_run": True})
    if dry_run:
        return CommandOutput(counted, lambda screen: _show_counts(screen, counted))
    question = f"Erase {counted['user']} for good? It cannot be undone"
    if not yes and not is_confirmed(question, lambda screen: _show_counts(screen, counted)):
        document = counted | {"status": "unconfirmed"}
        told = "Nothing was removed. Add --yes to erase the user, or --dry-run to see what would be removed."
        return CommandOutput(document, lambda screen: screen.line(told), exit_code=UNCONFIRMED)
    done = await session.call("user_erase", {"user": user})
    return CommandOutput(done, lambda screen: _show_receipt(screen, done))


@tenant_command
async def erasures(
    session: CommandSession,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="The largest number of receipts.")] = 100,
    cursor: Cursor = None,
) -> CommandOutput:
    """List the receipts of erased users, the newest first."""
    listed = await session.call("erasure_list", {"limit": limit, "cursor": cursor})
    return CommandOutput(listed, lambda screen: _show_receipts(screen, listed))


def _show_counts(screen: Screen, counted: dict[str, Any]) -> None:
    screen.line("Would be removed for good with ", (counted["user"], "bold"), ":")
    _show_each(screen, counted["counts"])
    if counted["status"] == "unfinished":
        screen.line(
            ("An erasure of this user was interrupted. The counts include what it has removed.", "yellow")
        )


def _show_receipt(screen: Screen, done: dict[str, Any]) -> None:
    screen.line(("Erased: ", "green"), (done["user"], "bold"), f", at {format_time(done['finished_at'])}")
    _show_each(screen, done["counts"])
    screen.line((f"Receipt {done['receipt']}: `memex users erasures` shows it again.", "dim"))


def _show_each(screen: Screen, counts: dict[str, int]) -> None:
    for name, noun in COUNTED.items():
        if counts[name]:
            screen.line(f"  {format_count(counts[name], noun)}")
    if staying := counts["revisions_of_others"]:
        named = format_count(staying, "stored version")
        screen.line((f"  {named} in projects and shared files: the text stays, its author does not", "dim"))


def _show_receipts(screen: Screen, listed: dict[str, Any]) -> None:
    columns = [
        Column("receipt", align="right", whole=True),
        Column("user", "bold"),
        Column(
            "erased",
            cell=lambda erasure: (
                format_time(erasure["finished_at"]) if erasure["finished_at"] else "unfinished"
            ),
        ),
        *(numbers(name) for name in ("files", "revisions", "calls", "keys")),
    ]
    erasures = [{**erasure["counts"], **erasure} for erasure in listed["erasures"]]
    screen.records(erasures, columns, "No user was erased.", listed["next_cursor"])
