"""`memex service queue`: the texts that wait to be remembered in the background."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memex.cli.options import Cursor
from memex.cli.output import Column, CommandOutput, Screen, format_count, program_name, times
from memex.cli.session.commands import plain_command, tenant_command
from memex.cli.session.session import CommandSession
from memex.errors import ValidationFailed

if TYPE_CHECKING:
    from memex.service.service import Service


POLL_S = 0.1
ENDING = (signal.SIGINT, signal.SIGTERM)
INTERRUPTED = 130
STATUS_STYLES = {"queued": "yellow", "quarantined": "red"}

User = Annotated[
    str | None, typer.Option(help="Only the calls of this user. By default the calls of the whole tenant.")
]


@tenant_command
async def list_calls(
    session: CommandSession,
    user: User = None,
    limit: Annotated[int, typer.Option(min=1, max=500, help="The largest number of results.")] = 100,
    cursor: Cursor = None,
) -> CommandOutput:
    """List the calls that wait in the queue or were given up there, the oldest first."""
    listed = await session.of(user).call("queue_list", {"limit": limit, "cursor": cursor})
    return CommandOutput(listed, lambda screen: _show_calls(screen, session, listed))


@tenant_command
async def retry(
    session: CommandSession,
    call: Annotated[
        str | None, typer.Argument(metavar="TOOL_CALL_ID", help="The id of a call that was given up.")
    ] = None,
    is_all: Annotated[
        bool, typer.Option("--all", help="All calls that were given up, in the order in which they came.")
    ] = False,
    user: User = None,
) -> CommandOutput:
    """Put a call that was given up back into the queue, or all of them, for five more attempts."""
    if (call is None) is not is_all:
        raise ValidationFailed(
            "One call is tried again, or all of them.", hint="Give the TOOL_CALL_ID of a call, or --all."
        )
    name = "queue_retry_all" if call is None else "queue_retry"
    retried = await session.of(user).call(name, {"tool_call_id": call})
    return CommandOutput(retried, lambda screen: _show_retried(screen, retried["calls"]))


@plain_command
def work() -> CommandOutput:
    """Process all queued calls of every tenant, then exit. A running `memex serve` does this by itself."""
    import asyncio
    import os

    for number in ENDING:  # exit at once, until work has begun that must be returned to the queue
        signal.signal(number, lambda *_: os._exit(INTERRUPTED))
    return asyncio.run(_work())


async def _work() -> CommandOutput:
    """Return what was done. Exit with 130 if a signal ended it; unfinished calls are in the queue again."""
    import asyncio
    import gc

    from memex.cli.session.opening import start_database

    settings, started = start_database(is_quiet=sys.stderr.isatty())
    from memex.wiring import running_service  # loads while the database starts

    gc.enable()
    async with running_service(settings, started=started, with_worker=True) as service:
        if not service.database.has_jobs:
            raise ValidationFailed(
                "This database has no queue.", hint="`memex doctor` says what it needs for one."
            )
        ending = asyncio.Event()
        for number in ENDING:
            asyncio.get_running_loop().add_signal_handler(number, ending.set)
        found = (await _count(service))["queued"]
        with _left() as say:
            while (count := await _count(service))["queued"] and not ending.is_set():
                say(count["queued"])
                with suppress(TimeoutError):
                    await asyncio.wait_for(ending.wait(), POLL_S)
    if count["queued"]:
        raise typer.Exit(INTERRUPTED)
    document = {"done": found, "quarantined": count["quarantined"]}
    return CommandOutput(document, lambda screen: _show_worked(screen, document))


async def _count(service: "Service") -> dict[str, int]:
    from memex.store.log import queue

    async with service.database.maintenance() as connection:
        return await queue.count(connection)


@contextmanager
def _left() -> Iterator[Any]:
    """Return a function that shows on stderr how many calls are left, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(file=sys.stderr).status("") as status:
        yield lambda number: status.update(f"{format_count(number, 'call')} left")


def _show_calls(screen: Screen, session: CommandSession, listed: dict[str, Any]) -> None:
    columns = [
        times("since", "accepted_at", "dim"),
        Column("tool call", "bold", cell="tool_call_id"),
        Column("user"),
        Column("status", whole=True, cell=_status),
        Column("tries", align="right", whole=True, cell="attempts"),
        Column("error", cell="error_code"),
    ]
    screen.records(listed["calls"], columns, "The queue is empty.", listed["next_cursor"])
    if any(call["status"] == "quarantined" for call in listed["calls"]):
        screen.line()
        screen.line(("Try one again: ", "dim"), session.command("service", "queue", "retry", "TOOL_CALL_ID"))
        screen.line(("Try all again: ", "dim"), session.command("service", "queue", "retry", "--all"))


def _status(call: dict[str, Any]) -> tuple[str, str]:
    """Return the status of a call with its style: `running` while a worker processes it."""
    return "running" if call["lease_until"] else call["status"], STATUS_STYLES[call["status"]]


def _show_retried(screen: Screen, calls: list[dict[str, Any]]) -> None:
    if not calls:
        screen.line(("Nothing to try again: no call was given up.", "dim"))
        return
    users = ", ".join(dict.fromkeys(call["user"] for call in calls))
    screen.line(f"In the queue again: {format_count(len(calls), 'call')} of {users}.")
    screen.line(("A running `memex serve` does it, or now: ", "dim"), f"{program_name()} service queue work")


def _show_worked(screen: Screen, document: dict[str, Any]) -> None:
    done, quarantined = document["done"], document["quarantined"]
    screen.line(f"{format_count(done, 'call')} done." if done else "Nothing to do: the queue is empty.")
    if quarantined:
        were = "was" if quarantined == 1 else "were"
        screen.line(
            (
                f"{format_count(quarantined, 'call')} {were} given up: `memex service queue list` says why.",
                "yellow",
            )
        )
