"""`memex conversations capture`: pause and resume the capture of coding agents, and see what becomes of it."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memex.cli.options import UserOptions
from memex.cli.output import Column, CommandOutput, Screen, format_count
from memex.cli.session.commands import plain_command, user_command
from memex.cli.session.session import CommandSession

if TYPE_CHECKING:
    from memex.capture.delivery import DeliveryReport
    from memex.capture.switch import CaptureSettings
    from memex.hook.state import CaptureState


MAX_DELIVERY_S = 600
MAX_OFF_SHOWN = 5
NotHere = Annotated[
    Path | None,
    typer.Option(
        "--not-here",
        metavar="FOLDER",
        help="Only this folder and what is below it. Use . for the current folder.",
    ),
]


@plain_command
def pause(not_here: NotHere = None) -> CommandOutput:
    """Note nothing from now on, or with --not-here nothing in a folder.

    Sessions that go on meanwhile are not captured afterwards either: a transcript is read as a whole.
    """
    from memex.capture import switch

    with switch.usable_state() as state:
        if not_here is None:
            switch.pause(state)
        else:
            switch.exclude(state, not_here)
    return _shown(switch.local_status(state))


@plain_command
def resume(
    not_here: NotHere = None,
    everywhere: Annotated[
        bool | None,
        typer.Option(
            "--everywhere/--only-projects", help="Capture also in folders that belong to no project."
        ),
    ] = None,
    prompts: Annotated[
        bool | None,
        typer.Option("--prompts/--no-prompts", help="Also give a pack that changed with a prompt."),
    ] = None,
) -> CommandOutput:
    """Note events again. The first time, this turns capture on for clients with the plugin of Memex."""
    from memex.capture import switch

    with switch.usable_state() as state:
        known = switch.read_settings(state)
        settings = known or new_settings(url=os.environ.get("MEMEX_URL"), key=None, user=None)
        changes = {"everywhere": everywhere, "prompts": prompts}
        settings = replace(settings, **{name: value for name, value in changes.items() if value is not None})
        if settings != known:
            switch.turn_on(state, settings)
        if not_here is None:
            switch.resume(state)
        else:
            switch.include(state, not_here)
    return _shown(switch.local_status(state))


@user_command
async def status(session: CommandSession) -> CommandOutput:
    """Show whether capture is on, what waits on this machine, and when the last event of each agent arrived."""
    from memex.capture import switch

    state = switch.open_state()
    settings = switch.read_settings(state)
    if settings is None:
        heard = await session.call("event_heard")
    else:
        async with delivering_session(settings) as own:  # the Memex that capture delivers to
            heard = await own.call("event_heard")
    return _shown(switch.local_status(state) | {"heard": heard["runtimes"]})


@plain_command
def deliver(
    lock_handle: Annotated[int | None, typer.Option(help="The lock that the starter holds.")] = None,
) -> CommandOutput:
    """Deliver what waits on this machine; `memex-hook` starts this."""
    import asyncio
    import signal

    from memex.capture import switch

    if hasattr(signal, "alarm"):
        signal.alarm(MAX_DELIVERY_S)  # no delivery stays
    state = switch.open_state()
    os.chdir(state.path)  # not the folder of the agent, which may be removed
    report = asyncio.run(_deliver(state, lock_handle))
    return CommandOutput(
        report.document(),
        lambda screen: screen.line(f"{format_count(report.added, 'event')} delivered."),
        exit_code=1 if report.error else 0,
    )


async def _deliver(state: "CaptureState", lock: int | None) -> "DeliveryReport":
    import json
    import time

    from memex.capture import switch
    from memex.capture.delivery import Delivery, DeliveryReport, is_waiting
    from memex.errors import MemexError
    from memex.hook.state import DELIVERED, DELIVERY_LOCK, EARLIER_LINKS

    if lock is not None:
        os.set_inheritable(lock, False)  # not for the database that is started
    elif (state.exists(EARLIER_LINKS) and not is_waiting(state)) or (
        lock := state.lock(DELIVERY_LOCK)
    ) is None:
        return DeliveryReport()
    settings = switch.read_settings(state) or switch.CaptureSettings()
    try:
        async with delivering_session(settings) as session:
            context = replace(session.context, actor="capture", channel=None)
            return await Delivery(state, session.api, context, keeps_packs=True).run(lock)
    except MemexError as error:  # no service, or no database
        told = {"error": error.code, "at": int(time.time())}
        with suppress(OSError):  # a full disk
            state.write(DELIVERED, json.dumps(told).encode())
        raise


@asynccontextmanager
async def delivering_session(settings: "CaptureSettings") -> AsyncIterator[CommandSession]:
    """Give a session with the Memex that capture delivers to."""
    from memex.cli.session.opening import open_session

    named = {"MEMEX_URL": settings.url, "MEMEX_API_KEY": settings.key, "MEMEX_DATA_DIR": settings.data_dir}
    os.environ.update({name: value for name, value in named.items() if value is not None})
    options = UserOptions() if settings.user is None else UserOptions(user=settings.user)
    async with open_session(options) as session:
        yield session


def new_settings(*, url: str | None, key: str | None, user: str | None) -> Any:
    """Return settings for the Memex that the options or the environment name."""
    from memex.capture.switch import CaptureSettings, memex_command

    data_dir = os.environ.get("MEMEX_DATA_DIR")
    return CaptureSettings(
        url=url,
        key=key,
        user=user,
        data_dir=str(Path(data_dir).absolute()) if data_dir and url is None else None,
        deliver=memex_command(),
    )


def _shown(document: dict[str, Any]) -> CommandOutput:
    return CommandOutput(document, lambda screen: _show(screen, document))


def _show(screen: Screen, document: dict[str, Any]) -> None:
    on = "paused" if document["paused"] else "on" if document["on"] else "off"
    screen.line(("Capture is ", ""), (on, "bold"))
    if document["paused"]:
        screen.line(("Turn it on again: memex conversations capture resume", "dim"))
    elif not document["on"]:
        screen.line(("Turn it on: memex setup claude-code --hooks", "dim"))
    for folder in document["not_here"]:
        screen.line(f"Not in {folder}")
    for folder in document["folders"]:
        of = folder["project"] or folder["label"] or "no project"
        more = f"; it calls itself {folder['unconfirmed']}" if folder["unconfirmed"] else ""
        screen.line(f"{folder['folder']} is of {of}{more}")
    for session in document["off"][-MAX_OFF_SHOWN:]:
        screen.line(
            f"Session {session['session']} is not captured: {session['why']} {session['folder']}".rstrip()
        )
    waiting = document["waiting"]["events"]
    screen.line(f"{format_count(waiting, 'event')} {'waits' if waiting == 1 else 'wait'} on this machine.")
    if dropped := document["dropped"]:
        counted = format_count(dropped.get("tool", 0), "tool event")
        screen.line(
            (f"{counted} and {dropped.get('other', 0)} others were dropped: the spool was full.", "yellow")
        )
    if (delivered := document["delivered"]) and delivered.get("error"):
        screen.line((f"The last delivery failed: {delivered['error']}", "yellow"))
    if document.get("heard") == []:
        screen.line("No agent has sent an event yet.")
    elif "heard" in document:
        columns = [
            Column("agent", "bold", cell="runtime"),
            Column("sessions", cell=lambda client: f"{client['sessions']:,}"),
            Column("events", cell=lambda client: f"{client['events']:,}"),
            Column("last event", cell=lambda client: client["last_at"][:16].replace("T", " ")),
        ]
        screen.records(document["heard"], columns)
