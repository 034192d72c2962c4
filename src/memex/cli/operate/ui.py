"""`memex ui`: the address of the web UI, and a link that signs in to it."""

import sys
from typing import Annotated, Any

import typer

from memex.cli.output import CommandOutput, Screen
from memex.cli.session.commands import tenant_command
from memex.cli.session.session import CommandSession


@tenant_command
async def ui(
    session: CommandSession,
    url: Annotated[
        str | None,
        typer.Option(
            help="The address of the running service; by default http://127.0.0.1 at the port in MEMEX_PORT."
        ),
    ] = None,
) -> CommandOutput:
    """Print the address of the web UI, and a sign-in link.

    Only a terminal gets the link. A pipe or a file gets the address alone, and the error output says how to
    sign in.

    The link works once, for 10 minutes, and only in a browser on this machine. Whoever opens it is an administrator
    of the tenant, and first sees the memory of the user me.
    """
    service = await session.local.service()
    from memex.settings import read_settings

    address = (url or f"http://127.0.0.1:{read_settings().port}").rstrip("/")
    link = None
    if sys.stdout.isatty():
        from memex.service.identity.sessions import LINK_PATH, make_link

        link = address + LINK_PATH + await make_link(service.database, session.tenant)
    document = {"url": f"{address}/ui"}
    return CommandOutput(document, lambda screen: _show(screen, document, link))


def _show(screen: Screen, document: dict[str, Any], link: str | None) -> None:
    screen.line(document["url"])
    if link is None:
        told = "Sign in on this page with a key. For a link that signs in, run `memex ui` on a terminal."
        Screen(sys.stderr).line(told)
    else:
        screen.line()
        screen.line(("Sign in", "bold"), " with this link, once and within 10 minutes:")
        screen.line((link, "yellow"))
