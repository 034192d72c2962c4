"""`memex log spend`: the tokens and the money that chat models cost."""

from typing import Annotated, Any

import typer

from memex.cli.output import Column, CommandOutput, Screen, numbers
from memex.cli.session.commands import tenant_command
from memex.cli.session.session import CommandSession


@tenant_command
async def spend(
    session: CommandSession,
    days: Annotated[int, typer.Option(min=1, max=366, help="The number of days (UTC), including today.")] = 7,
) -> CommandOutput:
    """Show the tokens and costs of chat models in the calls of a tenant, by day and model."""
    spent = await session.call("spending_show", {"days": days})
    return CommandOutput(spent, lambda screen: _show(screen, spent))


def _show(screen: Screen, spent: dict[str, Any]) -> None:
    columns = [
        Column("day", "dim", whole=True),
        Column("model", "bold", cut=True),
        numbers("requests"),
        numbers("read", "input_tokens"),
        numbers("written", "output_tokens"),
        Column("US dollars", align="right", whole=True, cell=lambda day: f"{day['usd']:.4f}"),
    ]
    screen.records(spent["spent"], columns, "No model was asked.")
    if spent["daily_usd"] is not None:
        screen.line((f"A day may cost {spent['daily_usd']:g} US dollars (MEMEX_DAILY_USD).", "dim"))
