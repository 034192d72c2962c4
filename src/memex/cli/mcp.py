"""`memex mcp`: memory for a program that speaks MCP over stdin and stdout."""

import gc
import signal
import sys
from typing import Annotated, Literal

import typer

from memex.cli.options import UserOptions
from memex.cli.output import reporting
from memex.errors import ValidationFailed

ENDING = (signal.SIGTERM, signal.SIGINT)
HERE = UserOptions()
_ACTING = "Acting for"


def mcp(
    profile: Annotated[
        Literal["agent", "files", "admin"],
        typer.Option(help="Which tools: the two of an agent, those on files too, or an admin's too."),
    ] = "agent",
    url: Annotated[
        str | None, typer.Option(help="A running Memex, by default MEMEX_URL; its key is in MEMEX_API_KEY.")
    ] = None,
    user: Annotated[
        str | None,
        typer.Option(
            help=f"Whose user/… it is: by default {HERE.user}, or at a running Memex whom the key is bound to.",
            rich_help_panel=_ACTING,
        ),
    ] = None,
    project: Annotated[
        str | None, typer.Option(help="The project that the work is about.", rich_help_panel=_ACTING)
    ] = None,
    tenant: Annotated[
        str, typer.Option(help="The tenant; at a running Memex the key says it.", rich_help_panel=_ACTING)
    ] = HERE.tenant,
) -> None:
    """Serve memory to an MCP client over stdin and stdout, until it closes stdin or on SIGTERM."""
    with reporting(as_json=False):
        _serve(profile, url, user, project, tenant)


def _serve(
    profile: Literal["agent", "files", "admin"],
    url: str | None,
    user: str | None,
    project: str | None,
    tenant: str,
) -> None:
    import asyncio

    from memex import logging, postgres
    from memex.remote import For
    from memex.settings import read_settings

    for number in ENDING:
        signal.signal(number, lambda *_: sys.exit(0))
    settings = read_settings()
    logging.configure(settings.log_level)
    url = url or settings.url
    if url is not None and tenant != HERE.tenant:
        raise ValidationFailed(
            f"{url} takes the tenant from its key.", hint="Leave --tenant out, and use a key of that tenant."
        )
    started = None if url else postgres.start_in_background(settings)
    from memex.mcp import stdio  # loads while the database starts

    gc.freeze()
    gc.enable()
    if url is not None:
        opened = stdio.memory_at(url, settings, profile, For(user_id=user, project=project))
    else:
        here = For(user_id=user or HERE.user, project=project)
        opened = stdio.memory_here(settings, profile, tenant, here, started)

    async def serve() -> None:
        async with opened as memory:
            is_told_to_end = await stdio.serve(memory, profile, settings, ENDING)
        if is_told_to_end:
            stdio.leave()

    asyncio.run(serve())
