"""`memex docs watch`: what happens to watched folders is printed, a line an event."""

import asyncio
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from memex.cli.output import Screen, format_count
from memex.cli.session.session import CommandSession
from memex.errors import MemexError, error_document

if TYPE_CHECKING:
    from memex.mirror.roots import PushedRoot


async def watch_roots(session: CommandSession, roots: "list[PushedRoot]", *, prune: bool) -> dict[str, Any]:
    """Watch roots, each by itself, until all were refused for good; raises the error of the last one."""
    from memex.mirror.watch import Watcher

    screen = Screen(sys.stderr)
    last: MemexError | None = None

    async def watch(root: "PushedRoot") -> None:
        nonlocal last
        tell = partial(show_event, screen, root.shown)
        try:
            await Watcher(session.api, session.context, root, tell, prune=prune).run()
        except MemexError as error:
            last = error
            tell("refused", error_document(error))

    async with asyncio.TaskGroup() as group:
        for root in roots:
            group.create_task(watch(root))
    if last is not None:
        raise last
    return {"roots": [root.name for root in roots]}


def show_event(screen: Screen, root: str, event: str, values: dict[str, Any]) -> None:
    """Print what happened to a root."""
    named = (f"{root}: ", "bold")
    if event in ("synced", "sent"):
        names = ("created", "changed", "renamed", "removed")
        counts = ", ".join(f"{values[name]:,} {name}" for name in names if values[name])
        if event == "synced":
            counts = f"{counts or 'up to date'}; {format_count(values['documents'], 'document')}"
        if counts:
            screen.line(named, f"{counts} ({values['duration_s']:.1f} s)")
        for file in values["refused"]:
            screen.line(named, ("refused ", "red"), f"{file['path']}: {file['message']}")
    elif event == "waiting":
        if values["attempt"] == 1 or values["next_in_s"] >= 30:  # not each of the short waits
            screen.line(named, (f"waiting, {values['message']}", "yellow"))
    elif event == "refused":
        screen.line(named, (f"{values['code']} ", "red"), values["message"])
        if values["hint"]:
            screen.line((values["hint"], "dim"))
    elif event == "folder_missing":
        screen.line(
            named, (f"{values['folder']} is not there; nothing is removed, waiting for it.", "yellow")
        )
    elif event == "few_watches":
        said = f"The system watches no more folders ({values['message']}); looking every 10 s."
        screen.line(named, (said, "yellow"))
        screen.line(("On Linux, raise fs.inotify.max_user_watches.", "dim"))
    else:
        screen.line(named, ("another process of this machine watches it; waiting.", "dim"))
