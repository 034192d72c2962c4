"""`memex secrets`: what is done about secrets in texts that come in."""

from typing import Annotated, Any, Literal

import typer

from memex.cli.output import Column, CommandOutput, Screen
from memex.cli.session.commands import tenant_command
from memex.cli.session.session import CommandSession

Policy = Literal["redact", "flag", "refuse", "off", "default"]
DOORS = {"remember": "texts to remember, reasons", "files": "files"}
MEANINGS = {
    "redact": "[secret: kind] takes its place",
    "flag": "it is stored, and the answer says where it stands",
    "refuse": "the call fails, and nothing is stored",
    "off": "nobody looks for secrets",
}


@tenant_command
async def show(session: CommandSession) -> CommandOutput:
    """Show what is done about secrets in texts to remember, and in files."""
    document = await session.call("secrets_show")
    return CommandOutput(document, lambda screen: _show(screen, document))


@tenant_command
async def set_policies(
    session: CommandSession,
    remember: Annotated[
        Policy | None,
        typer.Option(help="For texts to remember and reasons; `default` is what the settings say."),
    ] = None,
    files: Annotated[
        Policy | None, typer.Option(help="For files; `default` is what the settings say.")
    ] = None,
) -> CommandOutput:
    """Set what is done about secrets; what is left out stays as it is."""
    before = await session.call("secrets_show")
    given = {"remember": remember, "files": files}
    change = before["set"] | {
        door: None if policy == "default" else policy for door, policy in given.items() if policy is not None
    }
    document = await session.call("secrets_set", change)
    return CommandOutput(document, lambda screen: _show(screen, document))


def _show(screen: Screen, document: dict[str, Any]) -> None:
    columns = [
        Column("a secret in", "bold", cell=lambda door: DOORS[door]),
        Column("policy", cell=lambda door: document[door]),
        Column("meaning", cell=lambda door: MEANINGS[document[door]]),
        Column(
            "set by",
            "dim",
            cell=lambda door: "the settings" if document["set"][door] is None else "the tenant",
        ),
    ]
    screen.records(list(DOORS), columns)
