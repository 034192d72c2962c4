"""`memex mcp`: memory for a client of the Model Context Protocol (MCP), over stdin and stdout."""

import gc
import signal
import sys
from typing import Annotated, Literal

import typer

from memex.cli.loading import load_structlog
from memex.cli.options import UserOptions
from memex.cli.output import report_errors
from memex.errors import ValidationFailed

ENDING = (signal.SIGTERM, signal.SIGINT)
HERE = UserOptions()
_ACTING = "Acting for"


def mcp(
    profile: Annotated[
        Literal["agent", "files", "conversations", "admin"],
        typer.Option(
            help="The tools to offer: agent (two tools), files (also the tools for files), conversations (also the "
            "tools for imported conversations), admin (all tools of memory)."
        ),
    ] = "agent",
    url: Annotated[
        str | None,
        typer.Option(
            help="The URL of a running Memex; by default MEMEX_URL. MEMEX_API_KEY holds the key for it."
        ),
    ] = None,
    user: Annotated[
        str | None,
        typer.Option(
            help=f"The user whose files are at user/…; by default {HERE.user}, or with a URL the user of the key.",
            rich_help_panel=_ACTING,
        ),
    ] = None,
    project: Annotated[
        str | None, typer.Option(help="The project that this work belongs to.", rich_help_panel=_ACTING)
    ] = None,
    tenant: Annotated[
        str,
        typer.Option(
            help="The tenant to use; with a URL, the key determines the tenant.", rich_help_panel=_ACTING
        ),
    ] = HERE.tenant,
) -> None:
    """Serve memory to an MCP client over stdin and stdout, until the client closes stdin or on SIGTERM."""
    with report_errors(as_json=False):
        _serve(profile, url, user, project, tenant)


def _serve(
    profile: Literal["agent", "files", "conversations", "admin"],
    url: str | None,
    user: str | None,
    project: str | None,
    tenant: str,
) -> None:
    import asyncio

    load_structlog()
    from memex import logging, postgres
    from memex.call_context import CallContext
    from memex.settings import read_settings

    for number in ENDING:
        signal.signal(number, lambda *_: sys.exit(0))
    settings = read_settings()
    logging.configure(settings.log_level)
    url = url or settings.url
    if url is not None and tenant != HERE.tenant:
        raise ValidationFailed(
            f"The key for {url} determines the tenant.",
            hint="Leave out --tenant, and use a key of that tenant.",
        )
    started = None if url else postgres.start_in_background(settings)
    from memex.mcp import stdio  # loads while the database starts

    gc.freeze()
    gc.enable()
    if url is not None:
        opened = stdio.remote_memory(url, settings, profile, CallContext(user_id=user, project=project))
    else:
        here = CallContext(user_id=user or HERE.user, project=project)
        opened = stdio.local_memory(settings, profile, tenant, here, started)

    async def serve() -> None:
        async with opened as connection:
            is_told_to_end = await stdio.serve(connection, profile, settings, ENDING)
        if is_told_to_end:
            stdio.leave()

    asyncio.run(serve())
