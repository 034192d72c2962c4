"""`memex service health`: whether a running service works, and the figures of a tenant."""

from typing import Any

from memex.cli.health.findings import show
from memex.cli.output import Column, CommandOutput, Screen, format_time, numbers
from memex.cli.session.commands import tenant_command
from memex.cli.session.session import CommandSession
from memex.service.health.findings import Finding
from memex.service.health.sizes import format_size

WORDS = "words alone"


@tenant_command
async def health(session: CommandSession) -> CommandOutput:
    """Show whether the service works and what to do: queue, index, vectors, calls of the last day, costs and disk.

    The exit code is 1 if something is wrong. `memex doctor` also checks this installation and its settings. Over
    HTTP this needs an administrator's key.
    """
    found = await session.call("health_show")
    return CommandOutput(found, lambda screen: _show(screen, found), exit_code=0 if found["ok"] else 1)


def _show(screen: Screen, found: dict[str, Any]) -> None:
    show(screen, [Finding(**check) for check in found["checks"]])
    if found["calls"]["tools"]:
        columns = [
            Column("tool in the last day", "bold", cell="tool"),
            numbers("calls"),
            numbers("failed"),
            *(Column(f"{name} ms", align="right", whole=True, cell=f"{name}_ms") for name in ("p50", "p95")),
        ]
        screen.line()
        screen.records(found["calls"]["tools"], columns)
    screen.line()
    columns = [
        Column("who answers", "bold", cell="tool"),
        Column("set up", cell=lambda answers: answers["model"] or WORDS),
        Column("in use", cell=lambda answers: answers["in_use"] or WORDS),
        numbers("answers"),
        numbers("degraded"),
    ]
    screen.records(found["answers"], columns)
    screen.line()
    sizes = [(table["name"], format_size(table["size_bytes"])) for table in found["disk"]["tables"]]
    screen.table([Column("on disk", "bold"), Column("size", align="right", whole=True)], sizes)
    if found["oldest_call_at"]:
        screen.line((f"The oldest call in the log is from {format_time(found['oldest_call_at'])}.", "dim"))
