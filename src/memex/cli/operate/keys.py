"""`memex keys`: the API keys that may call the service."""

from typing import Annotated, Any, Literal

import typer

from memex.cli.output import Column, CommandOutput, Screen, format_time, times
from memex.cli.session.commands import tenant_command
from memex.cli.session.session import CommandSession

KEYS = [
    Column("id", "bold", align="right", whole=True),
    Column("role"),
    Column("user", cell=lambda key: key["user"] or "any"),
    Column("label"),
    times("created", "created_at", "dim"),
    times("revoked", "revoked_at", "red"),
]


@tenant_command
async def create(
    session: CommandSession,
    role: Annotated[
        Literal["agent", "admin"],
        typer.Option(
            help="agent: tools and files of a user. admin: everything in the tenant, /metrics and /v1/admin."
        ),
    ],
    user: Annotated[
        str | None, typer.Option(help="Bind the key to this user. Without it, each call names its user.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="A note about the purpose of the key.")] = None,
) -> CommandOutput:
    """Create a key. The key is printed only once, because Memex stores only its digest."""
    document = await session.call("key_create", {"role": role, "user": user, "label": label})
    return CommandOutput(document, lambda screen: _show_created(screen, document))


@tenant_command
async def list_keys(session: CommandSession) -> CommandOutput:
    """List the keys of a tenant, including revoked keys, without their secrets."""
    listed = await session.call("key_list")
    return CommandOutput(listed, lambda screen: screen.records(listed["keys"], KEYS, "No keys."))


@tenant_command
async def revoke(
    session: CommandSession,
    key: Annotated[
        int, typer.Argument(metavar="ID", min=1, max=2**63 - 1, help="The id that `memex keys list` shows.")
    ],
) -> CommandOutput:
    """Revoke a key immediately and permanently."""
    revoked = await session.call("key_revoke", {"key_id": key})
    return CommandOutput(
        revoked,
        lambda screen: screen.line(f"Key {key} is revoked since {format_time(revoked['revoked_at'])}."),
    )


def _show_created(screen: Screen, key: dict[str, Any]) -> None:
    if not screen.is_terminal:
        screen.line(key["key"])  # so that KEY=$(memex keys create …) works
        return
    screen.line((key["key"], "yellow"))
    bound = f" of user {key['user']}" if key["user"] else ""
    screen.line(
        (f"Key {key['id']}, {key['role']}{bound} in tenant {key['tenant']}. It is shown this once.", "dim")
    )
