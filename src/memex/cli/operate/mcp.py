"""`memex mcp`: memory for a client of the Model Context Protocol (MCP), over stdin and stdout."""

import gc
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from memex.cli.loading import load_structlog
from memex.cli.options import UserOptions
from memex.cli.output import report_errors
from memex.errors import ValidationFailed

if TYPE_CHECKING:
    from memex.mcp.connection import McpConnection
    from memex.mirror.roots import PushedRoot

ENDING = (signal.SIGTERM, signal.SIGINT)
HERE = UserOptions()
_ACTING = "Acting for"


@report_errors(as_json=False)
def mcp(
    profile: Annotated[
        Literal["agent", "files", "conversations", "work", "project", "admin"],
        typer.Option(
            help="The tools to offer: agent (two tools), files (also the tools for files), conversations (also the "
            "tools for imported conversations), work (also where work stands), project (six tools for the memory "
            "of a project), admin (all tools of memory)."
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
        str | None,
        typer.Option(
            help="The project that this work belongs to; by default MEMEX_PROJECT.", rich_help_panel=_ACTING
        ),
    ] = None,
    include: Annotated[
        str | None,
        typer.Option(
            metavar="KINDS",
            help="What contexts hold beside memory: conversations, documents; by default what "
            "MEMEX_CONTEXT_INCLUDE of the service names.",
        ),
    ] = None,
    docs: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FOLDER",
            help="Push the documents of a folder and watch it while this runs, as memex docs watch. Repeatable.",
        ),
    ] = None,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch",
            help="Compare and watch all folders that are noted for this project, and those that an agent adds.",
        ),
    ] = False,
    tenant: Annotated[
        str,
        typer.Option(
            help="The tenant to use; with a URL, the key determines the tenant.", rich_help_panel=_ACTING
        ),
    ] = HERE.tenant,
) -> None:
    """Serve memory to an MCP client over stdin and stdout.

    It runs until the client closes stdin, or until SIGTERM.
    """
    import asyncio

    load_structlog()
    from memex import logging, postgres
    from memex.call_context import CallContext
    from memex.settings import parse_included, read_settings

    for number in ENDING:
        signal.signal(number, lambda *_: sys.exit(0))
    settings = read_settings()
    logging.configure(settings.log_level)
    included = None if include is None else parse_included(include, "--include")
    project = project or os.environ.get("MEMEX_PROJECT") or None
    url = url or settings.url
    if url is not None and tenant != HERE.tenant:
        raise ValidationFailed(
            f"The key for {url} determines the tenant.",
            hint="Leave out --tenant, and use a key of that tenant.",
        )
    started = None if url else postgres.start_in_background(settings, migrates=False)
    from memex.mcp import stdio  # loads while the database starts

    whose = user or ("" if url else HERE.user)
    roots = _roots(docs, url or "", whose, project) if docs else []
    roots += _noted(url or "", whose, project) if watch else []
    gc.freeze()
    gc.enable()
    if url is not None:
        there = CallContext(user_id=user, project=project)
        opened = stdio.remote_memory(url, settings, profile, there, included)
    else:
        here = CallContext(user_id=user or HERE.user, project=project)
        opened = stdio.local_memory(settings, profile, tenant, here, started, included)

    async def serve() -> None:
        async with opened as connection, _watching(connection, roots, adds=watch):
            is_told_to_end = await stdio.serve(connection, profile, settings, ENDING)
        if is_told_to_end:
            stdio.leave()

    asyncio.run(serve())


def _roots(folders: list[Path], url: str, user: str, project: str | None) -> "list[PushedRoot]":
    """Return the roots of folders, as they are noted or by their names; raises ValidationFailed if one is none."""
    from memex.mirror.roots import RootsFile, choose_root, find_folder

    noted, url = RootsFile().read(), url.rstrip("/")
    return [
        choose_root(noted, find_folder(folder), url=url, user=user, project=project) for folder in folders
    ]


def _noted(url: str, user: str, project: str | None) -> "list[PushedRoot]":
    """Return the roots that are noted for a project, or of all projects where none is named."""
    from memex.mirror.roots import RootsFile

    mine = [root for root in RootsFile().read() if (root.url, root.user) == (url.rstrip("/"), user)]
    return [root for root in mine if project in (None, root.project)]


@asynccontextmanager
async def _watching(
    connection: "McpConnection", roots: "list[PushedRoot]", *, adds: bool
) -> AsyncIterator[None]:
    """Watch roots meanwhile, and those that an agent adds if it may."""
    if not roots and not adds:
        yield
        return
    from memex.mirror.watch import watching

    async with watching(connection.api, connection.context, roots) as add:
        if adds and connection.folders is not None:
            connection.folders.watchers.append(add)
        yield
