"""Two services on one database, behind a proxy that gives each connection to the other one."""

import itertools
import json
import os
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.abc
import httpx2
import pytest
from anyio.abc import ByteReceiveStream, ByteSendStream, SocketStream
from mcp.client.streamable_http import streamable_http_client
from tests.kit.mcp_results import result_of
from tests.kit.postgres_servers import Server

from mcp import Client

PROGRAM = [sys.executable, "-c", "from memex.cli.main import main; main()", "serve", "--port", "0", "--json"]
PATIENCE_S = 60
EACH_ANEW = httpx2.Limits(max_keepalive_connections=0)  # so that each request goes to the next replica


@dataclass(frozen=True)
class Replica:
    """A service that takes requests; `ready` is the line that it printed."""

    process: "subprocess.Popen[str]"
    ready: dict[str, Any]

    @property
    def url(self) -> str:
        """Where it listens itself."""
        return str(self.ready["url"])


@dataclass(frozen=True)
class Proxy:
    """A proxy at `url`; `served` counts the connections that each replica got."""

    url: str
    served: "Counter[str]"


@asynccontextmanager
async def proxied(replicas: list[Replica]) -> AsyncIterator[Proxy]:
    """A proxy that gives each connection to the replica whose turn it is."""
    turns = itertools.cycle(replicas)
    served: Counter[str] = Counter({replica.url: 0 for replica in replicas})

    async def pump(source: ByteReceiveStream, sink: ByteSendStream) -> None:
        async for chunk in source:
            await sink.send(chunk)

    async def serve(client: SocketStream) -> None:
        replica = next(turns)
        served[replica.url] += 1
        port = urlsplit(replica.url).port
        assert port is not None
        with suppress(anyio.BrokenResourceError):
            async with (
                client,
                await anyio.connect_tcp("127.0.0.1", port) as inner,
                anyio.create_task_group() as both,
            ):
                both.start_soon(pump, client, inner)
                await pump(inner, client)
                both.cancel_scope.cancel()

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as running:
        running.start_soon(listener.serve, serve)
        port = listener.extra(anyio.abc.SocketAttribute.local_port)  # noqa: S610  # no SQL
        yield Proxy(f"http://127.0.0.1:{port}", served)
        running.cancel_scope.cancel()


@pytest.fixture(scope="module")
def replicas(stock_server: Server) -> Iterator[list[Replica]]:
    """Two services that were started at once on an empty database."""
    name = f"memex_replicas_{uuid.uuid4().hex[:8]}"
    environment = {
        **os.environ,
        "DATABASE_URL": stock_server.create_empty(name),
        "MEMEX_MAX_CONNECTIONS": "5",
    }
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    processes = [subprocess.Popen(PROGRAM, env=environment, text=True, **pipes) for _ in range(2)]  # type: ignore[call-overload]
    try:
        lines = [process.stdout.readline() for process in processes]
        assert all(lines), [process.communicate()[1] for process in processes]
        yield [Replica(process, json.loads(line)) for process, line in zip(processes, lines, strict=True)]
    finally:
        for process in processes:
            process.kill()
            process.communicate()
        stock_server.drop(name)


@pytest.fixture
def keys(replicas: list[Replica]) -> dict[str, str]:
    """The first keys, which one of the two has made."""
    [made] = [replica.ready for replica in replicas if "agent_key" in replica.ready]
    return {role: made[f"{role}_key"] for role in ("agent", "admin")}


@asynccontextmanager
async def http_of(url: str, key: str, user: str | None = None) -> AsyncIterator[httpx2.AsyncClient]:
    """A client that opens a connection for each request."""
    headers = {"Authorization": f"Bearer {key}"} | ({"Memex-User": user} if user else {})
    async with httpx2.AsyncClient(base_url=url, headers=headers, limits=EACH_ANEW, timeout=30) as http:
        yield http


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.slow
async def test_one_conversation_goes_to_both(
    replicas: list[Replica], keys: dict[str, str], mode: str
) -> None:
    """What one remembered over MCP the other recalls at once, and a call sent to both is done once."""
    user = f"alice-{mode}"
    async with proxied(replicas) as proxy, http_of(proxy.url, keys["agent"], user) as http:
        transport = streamable_http_client(f"{proxy.url}/mcp/files", http_client=http)
        async with Client(transport, mode=mode) as client:
            meta: Any = {"memex/toolCallId": "call-1"}
            tea = {"text": "I prefer oolong tea."}
            first = await client.call_tool("memory_remember", tea, meta=meta)
            again = await client.call_tool("memory_remember", tea, meta=meta)
            recalled = [await client.call_tool("memory_context", {"query": "Which tea?"}) for _ in range(2)]
            written = [
                await client.call_tool("memory_write", {"path": f"user/{n}.md", "content": "# N\n"})
                for n in range(4)
            ]
        listed = [(await http.get("/v1/files")).json() for _ in range(2)]
        logged = (await http.get("/v1/operations/call-1")).json()

    assert result_of(first) == result_of(again)
    assert [attempt["status"] for attempt in logged["attempts"]] == ["repeated", "committed"]
    for result in recalled:
        assert "I prefer oolong tea." in result_of(result)["context"]
    assert not [result for result in written if result.is_error]
    assert listed[0]["files"] == listed[1]["files"]
    assert len(listed[0]["files"]) == 5
    assert min(proxy.served.values()) >= 4


@pytest.mark.slow
async def test_a_revoked_key_opens_neither_from_then_on(
    replicas: list[Replica], keys: dict[str, str]
) -> None:
    """No replica keeps a key in mind: the revocation at one of them is that at both."""
    tools_list = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    statuses: dict[str, list[int]] = {}
    async with proxied(replicas) as proxy, http_of(proxy.url, keys["admin"]) as admin:
        made = (await admin.post("/v1/admin/keys", json={"role": "agent", "user": "bob"})).json()

        async def knock() -> list[int]:
            async with http_of("", made["key"]) as http:
                return [
                    answer.status_code
                    for replica in replicas
                    for answer in (
                        await http.post(f"{replica.url}/mcp", json=tools_list),
                        await http.get(f"{replica.url}/v1/files"),
                    )
                ]

        statuses["before"] = await knock()
        revoked = await admin.delete(f"/v1/admin/keys/{made['id']}")
        statuses["after"] = await knock()

    assert revoked.is_success, revoked.text
    assert statuses == {"before": [200] * 4, "after": [401] * 4}


@pytest.mark.slow
def test_both_end_cleanly(replicas: list[Replica]) -> None:
    """One made the schema and the first keys, both took requests, and neither has anything to complain of."""
    for replica in replicas:
        replica.process.terminate()
    ended = [replica.process.communicate(timeout=PATIENCE_S) for replica in replicas]

    events = [json.loads(line) for _, err in ended for line in err.splitlines()]
    assert [replica.process.returncode for replica in replicas] == [0, 0]
    assert {event["route"] for event in events if event["event"] == "request"} >= {"/mcp", "/v1/files"}
    complaints = [event for event in events if event["level"] in ("warning", "error")]
    # On a busy machine the one that makes the schema keeps the other waiting for so long that it is told, and a
    # process that gets no core for a while says that its event loop stood still.
    assert {event["event"] for event in complaints} <= {"migration_waits", "event_loop_stalled"}
