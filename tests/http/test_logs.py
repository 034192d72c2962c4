"""What a serving process writes down: enough to follow a request, and nothing that is anybody's."""

import json
import subprocess
import sys
import uuid
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

SECRET = "quetzalcoatl"  # in every text, path, query, heading, reason and key that is sent

# Serves as `memex serve` does, over a service in which following links is broken: its error quotes the request.
PROGRAM = """
import asyncio, json, sys
from memex import logging
from memex.cli.serve import listen
from memex.http.serving import serve
from memex.service.service import Service
from memex.store import tenants
from memex.store.database import Database


class Broken(Service):
    async def execute(self, caller, tool, arguments, *, tool_call_id=None):
        if tool == "memory_links":
            raise RuntimeError(f"broken by {arguments}")
        return await super().execute(caller, tool, arguments, tool_call_id=tool_call_id)


async def main():
    database = await Database.open(sys.argv[1])
    key, _ = await tenants.create_key(database, "home", "agent", user_id="alice")
    listener = listen("127.0.0.1", 0)
    ready = {"port": listener.getsockname()[1], "key": key}
    await serve(Broken(database, max_files=10), listener, lambda: print(json.dumps(ready), flush=True))


logging.configure("info")
asyncio.run(main())
"""


@pytest.fixture
def own_conninfo(embedded_server: Any) -> Iterator[str]:
    """A database for a process of its own."""
    name = f"memex_logs_{uuid.uuid4().hex[:12]}"
    yield embedded_server.create(name)
    embedded_server.drop(name)


def test_logs_tell_of_every_request_and_of_no_memory(own_conninfo: str) -> None:
    """A line a request with its id, route, status and time; never a key, a text, a query or a path."""
    path = f"user/{SECRET}.md"
    execute = "/v1/tools/{tool}/execute"
    expected: dict[str, tuple[str | None, int]] = {}

    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, own_conninfo],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        bearer = {"Authorization": f"Bearer {ready['key']}"}
        with httpx2.Client(
            base_url=f"http://127.0.0.1:{ready['port']}", headers=bearer, timeout=30
        ) as client:

            def send(
                method: str, url: str, route: str | None, status: int, **request: Any
            ) -> httpx2.Response:
                request_id = f"trace-{len(expected)}"
                expected[request_id] = (route, status)
                headers = {"X-Request-ID": request_id, **request.pop("headers", {})}
                answer = client.request(method, url, headers=headers, **request)
                assert answer.status_code == status, answer.text
                return answer

            named = {"path": path, "reason": SECRET}
            send("PUT", "/v1/file", "/v1/file", 200, params=named, content=f"# {SECRET}\n")
            send("PUT", "/v1/file", "/v1/file", 409, params=named, content=SECRET)
            send("GET", "/v1/file", "/v1/file", 404, params={"path": f"user/no-{SECRET}.md"})
            send("GET", "/v1/file", "/v1/file", 422, params={"path": path, "version": SECRET})
            send("GET", "/v1/files", "/v1/files", 400, params={"prefix": SECRET})
            find = {"arguments": {"query": SECRET}}
            send("POST", "/v1/tools/memory_find/execute", execute, 200, json=find)
            send("POST", "/v1/tools/memory_find/execute", execute, 422, json={SECRET: SECRET})
            send("POST", f"/v1/tools/{SECRET}/execute", execute, 404, json={})
            send("GET", f"/{SECRET}", None, 404)
            send("GET", f"/v1/file?path={SECRET}%ff", None, 422)
            send("GET", "/v1/files", "/v1/files", 401, headers={"Authorization": f"Bearer mx_{SECRET}"})
            send("GET", "/v1/operations", "/v1/operations", 422, headers={"Memex-Actor": SECRET * 20})
            failed = send("GET", "/v1/links", "/v1/links", 500, params={"path": path})
        process.terminate()
        printed, logged = process.communicate(timeout=30)

    assert failed.json()["code"] == "INTERNAL"
    assert failed.json()["hint"]
    assert SECRET not in failed.text
    assert printed == ""
    assert SECRET not in logged
    assert ready["key"] not in logged
    events = [json.loads(line) for line in logged.splitlines()]
    requests = {event["request_id"]: event for event in events if event["event"] == "request"}
    assert {key: (event["route"], event["status"]) for key, event in requests.items()} == expected
    assert all(event["method"] and event["duration_ms"] > 0 for event in requests.values())
    [bug] = [event for event in events if event["event"] == "request_failed"]
    assert (bug["level"], bug["error"]) == ("error", "RuntimeError")
    assert requests[bug["request_id"]]["status"] == 500
    assert bug["where"][-1]["function"] == "execute"
