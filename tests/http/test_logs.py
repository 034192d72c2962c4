"""What a serving process writes down: enough to follow a request, and nothing that is anybody's."""

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest

SECRET = "quetzalcoatl"  # in every text, path, query, heading, reason and key that is sent

# `memex serve` with one fault: following links breaks, and the error quotes the request.
PROGRAM = """
from memex.cli.main import main
from memex.service.service import Service

whole = Service.execute

async def execute(self, caller, tool, arguments, **options):
    if tool == "memory_links":
        raise RuntimeError(f"broken by {arguments}")
    return await whole(self, caller, tool, arguments, **options)

Service.execute = execute
main()
"""


@contextmanager
def _running(conninfo: str) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "serve", "--port", "0", "--json"],
        env={**os.environ, "DATABASE_URL": conninfo},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


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

    with _running(own_conninfo) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        caller = {"Authorization": f"Bearer {ready['agent_key']}", "Memex-User": SECRET}
        with httpx2.Client(base_url=ready["url"], headers=caller, timeout=30) as client:

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
            find = {"context": {"userId": SECRET}, "arguments": {"query": SECRET}}
            send("POST", "/v1/tools/memory_find/execute", execute, 200, json=find)
            send("POST", "/v1/tools/memory_find/execute", execute, 422, json={SECRET: SECRET})
            send("POST", f"/v1/tools/{SECRET}/execute", execute, 404, json=find)
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
    assert ready["agent_key"] not in logged
    events = [json.loads(line) for line in logged.splitlines()]
    requests = {event["request_id"]: event for event in events if event["event"] == "request"}
    assert {key: (event["route"], event["status"]) for key, event in requests.items()} == expected
    assert all(event["method"] and event["duration_ms"] > 0 for event in requests.values())
    [bug] = [event for event in events if event["event"] == "request_failed"]
    assert (bug["level"], bug["error"]) == ("error", "RuntimeError")
    assert requests[bug["request_id"]]["status"] == 500
    assert bug["where"][-1]["function"] == "execute"
