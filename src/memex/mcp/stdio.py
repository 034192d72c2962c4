"""An MCP server over stdin and stdout: nothing but the protocol goes to stdout."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterable
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import Any

from mcp.server import Server
from mcp.server.stdio import stdio_server

from memex.api.local import LocalMemex
from memex.api.remote import RemoteMemex
from memex.call_context import CallContext
from memex.errors import ValidationFailed
from memex.mcp.connection import McpConnection
from memex.mcp.folders import LocalFolders
from memex.mcp.server import new_server
from memex.mcp.tools import McpProfile
from memex.postgres import Postgres
from memex.settings import Include, Settings
from memex.store.access import Role
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal
from memex.wiring import running_service


@asynccontextmanager
async def local_memory(
    settings: Settings,
    profile: McpProfile,
    tenant: str,
    context: CallContext,
    started: "Future[Postgres] | None" = None,
    include: Include = None,
) -> AsyncIterator[McpConnection]:
    """One user's memory in this process; raises as `running_service`."""
    async with running_service(settings, started=started, with_worker=True) as service:
        tenant_id = await tenants.ensure_tenant(service.database, tenant)
        role = role_of(profile)
        memex = LocalMemex(service, Principal(tenant_id, role), role=role)
        yield McpConnection(memex, context, include, LocalFolders("", context.user_id or ""))


@asynccontextmanager
async def remote_memory(
    url: str,
    settings: Settings,
    profile: McpProfile,
    context: CallContext,
    include: Include = None,
) -> AsyncIterator[McpConnection]:
    """One user's memory at a running Memex, with the key of the settings.

    Raises:
        ValidationFailed: there is no key.
    """
    if settings.api_key is None:
        raise ValidationFailed(
            f"There is no key for {url}.", hint="Set MEMEX_API_KEY; `memex keys create` makes one."
        )
    async with RemoteMemex(url, settings.api_key.get_secret_value(), role=role_of(profile)) as remote:
        folders = LocalFolders(url.rstrip("/"), context.user_id or "")
        yield McpConnection(remote, context, include, folders)


async def serve(
    connection: McpConnection, profile: McpProfile, settings: Settings, ending: Iterable[signal.Signals]
) -> bool:
    """Answer the client until it closes stdin or one of the `ending` signals comes; tell whether that came.

    After a signal a thread still waits for stdin, and no such read can be ended: the process can only be left.
    """
    server = new_server(profile, lambda _: connection, settings.prompts_dir)
    ended = asyncio.Event()
    for number in ending:
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    tasks = [asyncio.ensure_future(_answer(server)), asyncio.ensure_future(ended.wait())]
    done, running = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in running:
        task.cancel()
    for task in done:
        task.result()
    return ended.is_set()


def leave() -> None:
    """End this process at once. All that was acknowledged is stored, and stdout holds whole messages."""
    os._exit(0)


def role_of(profile: McpProfile) -> Role:
    """Return the role of keys that a profile is for."""
    return "admin" if profile == "admin" else "agent"


async def _answer(server: "Server[Any]") -> None:
    async with stdio_server() as (read_stream, write_stream):
        await server.run(read_stream, write_stream, server.create_initialization_options())
