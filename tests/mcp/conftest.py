"""Real MCP clients of a Memex that is served over HTTP."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client
from tests.http.conftest import KeyOf, http_conninfo, key_of, served, serving
from tests.kit.http_service import Served

from mcp import Client

__all__ = ["http_conninfo", "key_of", "served", "serving"]

Connect = Callable[..., AbstractAsyncContextManager[Client]]


@asynccontextmanager
async def connected(url: str, headers: dict[str, str], **options: Any) -> AsyncIterator[Client]:
    """A client of an MCP server over HTTP that sends these headers with every request."""
    async with (
        httpx2.AsyncClient(headers={name: value.encode() for name, value in headers.items()}) as http,
        Client(streamable_http_client(url, http_client=http), **options) as client,
    ):
        yield client


@pytest.fixture
def connect(served: Served, key_of: KeyOf) -> Connect:
    """Makes clients: `connect("files", bound_to="alice")`, `connect(user="bob", mode="legacy")`."""

    def make(
        profile: str = "agent",
        *,
        key: str | None = None,
        bound_to: str | None = None,
        user: str | None = None,
        project: str | None = None,
        tenant: str = "home",
        include: str | None = None,
        **options: Any,
    ) -> AbstractAsyncContextManager[Client]:
        role = "admin" if profile == "admin" else "agent"
        secret = key or key_of(role, bound_to=bound_to, tenant=tenant)
        named = {"Memex-User": user, "Memex-Project": project, "Memex-Include": include}
        headers = {name: value for name, value in named.items() if value is not None}
        path = "/mcp" if profile == "agent" else f"/mcp/{profile}"
        return connected(served.url + path, {"Authorization": f"Bearer {secret}", **headers}, **options)

    return make
