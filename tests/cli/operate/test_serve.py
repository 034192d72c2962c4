"""`memex serve`: its start, what it prints, and its end."""

import json
import os
import pty
import re
import signal
import socket
import subprocess
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from tests.cli.conftest import PATIENCE_S, PROGRAM, Memex
from tests.kit import clusters
from tests.kit.model_server import ModelServer, Request, Step, hangs

from memex.cli.operate.serve import user_concurrency
from memex.settings import Settings
from memex.store.embedded import server as embedded


def test_the_first_start_makes_keys_that_work(memex: Memex) -> None:
    """One line of JSON, an agent's and an admin's key, and after SIGTERM exit code 0 and no server."""
    with memex.serve() as serving:
        assert serving.ready.keys() == {"url", "data_dir", "agent_key", "admin_key"}
        assert serving.ready["data_dir"] == str(memex.data_dir)
        written = serving.call("memory_write", path="user/tea.md", content="# Tea\n\nOolong.\n")
        assert written["version"] == 1
        assert serving.request("/v1/admin/projects", key=serving.ready["admin_key"]) == {"projects": []}
        with pytest.raises(urllib.error.HTTPError, match="401"):
            serving.request("/v1/admin/projects", key="mx_wrong")
        assert "user/tea.md" in memex.plain("find", "oolong"), "a command joins the running server"

        code, out, err = serving.end()

    assert (code, out) == (0, "")
    told = {json.loads(line)["event"] for line in err.splitlines()}
    on_a_busy_machine = {"embedded_postgres_waiting", "event_loop_stalled"}
    assert told - on_a_busy_machine == {"request"}
    for secret in (serving.ready["agent_key"], serving.ready["admin_key"], "Oolong", "tea.md"):
        assert secret not in err
    clusters.await_stop(memex.data_dir)
    assert memex.plain("read", "user/tea.md") == "# Tea\n\nOolong.\n", "and works when no service runs"


@pytest.mark.slow
def test_a_second_start_shows_no_keys(memex: Memex) -> None:
    """Keys are made for a tenant without any; SIGINT ends the service as SIGTERM does."""
    memex.plain("keys", "create", "--role", "agent")

    with memex.serve() as serving:
        ready = serving.ready
        code, _, _ = serving.end(signal.SIGINT)

    assert ready.keys() == {"url", "data_dir"}
    assert code == 0


@pytest.mark.slow
def test_two_services_share_a_data_directory(prepared: Memex) -> None:
    """Started at once, one of them makes the keys; the death of one leaves the other at work."""
    with prepared.serve() as one, prepared.serve() as other:
        [keys] = [serving.ready for serving in (one, other) if "agent_key" in serving.ready]
        for serving in (one, other):
            replace(serving, ready=serving.ready | keys | {"url": serving.ready["url"]}).call("memory_list")
        one.process.kill()
        one.process.wait()
        second = replace(other, ready=keys | {"url": other.ready["url"]})
        assert second.call("memory_write", path="user/a.md", content="a")["version"] == 1
        assert other.end()[0] == 0
    clusters.await_stop(prepared.data_dir)


@pytest.mark.slow
def test_the_first_process_waits_for_the_server(prepared: Memex) -> None:
    """As process 1 of a container, whose end kills the rest, the service ends after a clean stop of Postgres."""
    own_user = () if os.geteuid() == 0 else ("--user", "--map-current-user")
    container = prepared.isolated(*own_user, "--pid", "--mount-proc", "--fork", "--kill-child")

    with container.serve() as serving:
        serving.call("memory_write", path="user/a.md", content="# Tea\n")
        unshare = serving.process.pid
        service = int(Path(f"/proc/{unshare}/task/{unshare}/children").read_text())
        os.kill(service, signal.SIGTERM)
        serving.process.communicate(timeout=PATIENCE_S)

    assert serving.process.returncode == 0
    assert "database system is shut down" in (prepared.data_dir / "server.log").read_text()


def test_a_request_under_way_may_end(memex: Memex) -> None:
    """A request whose body comes after SIGTERM gets its answer."""
    key = memex.plain("keys", "create", "--role", "agent").strip()
    body = b"# Slow\n"
    with memex.serve(is_forked=True) as serving:
        port = int(serving.ready["url"].rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as client:
            client.sendall(
                b"PUT /v1/file?path=user/slow.md HTTP/1.1\r\nHost: memex\r\nMemex-User: me\r\n"
                b"Authorization: Bearer %b\r\nContent-Type: text/markdown\r\nContent-Length: %d\r\n"
                b"Expect: 100-continue\r\n\r\n" % (key.encode(), len(body))
            )
            assert client.recv(100).startswith(b"HTTP/1.1 100"), "the service waits for the body"
            serving.process.send_signal(signal.SIGTERM)
            client.sendall(body)
            answer = client.recv(10_000)
        code, _, _ = serving.end()

    assert answer.startswith(b"HTTP/1.1 200")
    assert code == 0


@pytest.mark.slow
def test_no_model_is_waited_for_at_the_end(prepared: Memex, model_server: ModelServer) -> None:
    """After SIGTERM the rules answer whoever waits for a model, and a call of the queue goes back there."""
    asked = threading.Semaphore(0)

    def hang(_: Request) -> Step:
        asked.release()
        return hangs()

    model_server.play(hang, endless=True)
    environment = {"MEMEX_MODEL": "openai:m", "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": model_server.url}
    slow = prepared.elsewhere(prepared.data_dir, **environment, MEMEX_MODEL_SECONDS="600")
    with slow.serve() as serving, ThreadPoolExecutor() as pool:
        serving.call("memory_write", path="user/tea.md", content="# Tea\n\nI drink oolong tea.\n")
        queued = serving.call("memory_remember", text="I prefer rye bread.", wait=False)
        assert asked.acquire(timeout=PATIENCE_S), "the worker asks the model"
        recalling = pool.submit(serving.call, "memory_context", query="oolong tea")
        remembering = pool.submit(serving.call, "memory_remember", text="I prefer green tea.")
        assert asked.acquire(timeout=PATIENCE_S)
        assert asked.acquire(timeout=PATIENCE_S)
        code, _, err = serving.end()
        recalled, remembered = recalling.result(), remembering.result()

    assert code == 0
    for answer in (recalled, remembered):
        assert (answer["planner"], answer["degraded"]) == ("builtin", "MODEL_UNAVAILABLE")
        assert "Memex is ending" in prepared.plain("log", answer["tool_call_id"])
    assert "I drink oolong tea." in recalled["context"]
    assert [write["path"] for write in remembered["writes"]] == ["user/preferences.md"]
    assert "rye" not in prepared.plain("read", "user/preferences.md")
    [waiting] = prepared.json("queue", "list")["calls"]
    assert (waiting["tool_call_id"], waiting["status"]) == (queued["tool_call_id"], "queued")
    assert (waiting["attempts"], waiting["lease_until"]) == (0, None)
    assert err.count("model_gave_no_plan") == 2


@pytest.mark.slow
def test_a_start_can_be_ended(memex: Memex) -> None:
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


def test_a_port_in_use_is_a_clear_error(memex: Memex) -> None:
    """Nothing is started for an address that cannot be had."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = memex.run("serve", "--json", "--port", str(port))

    assert done.code == 1
    assert done.out == ""
    error = json.loads(done.err)
    assert error["code"] == "VALIDATION_ERROR"
    assert f"127.0.0.1:{port}" in error["message"]
    assert "--port" in error["hint"]


@pytest.fixture
def outdated(prepared: Memex) -> Memex:
    """The command over a file that another version indexed, which a start warns of."""
    prepared.plain("write", "user/tea.md", "--content", "# Tea\n")
    with embedded.start(prepared.data_dir) as lease, psycopg.connect(lease.conninfo) as connection:
        connection.execute("set memex.maintenance = 'on'")
        connection.execute("update scope set analyzer = 'analyzer-1' where analyzer is not null")
    return prepared


@pytest.mark.parametrize("where", ["terminal", "pipe"])
@pytest.mark.slow
def test_no_line_of_the_log_stands_above_the_greeting(outdated: Memex, where: str) -> None:
    """What is logged before comes after it: for a person on a terminal, and as JSON elsewhere.

    Only a terminal shows a link that signs in to the web UI.
    """
    ours, theirs = pty.openpty() if where == "terminal" else os.pipe()
    environment = {"TERM": "xterm", "NO_COLOR": "1", "COLUMNS": "100"}
    serving = outdated.elsewhere(outdated.data_dir, **environment)
    process = serving.spawn("serve", "--port", "0", stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    with os.fdopen(ours, errors="replace") as terminal:
        lines: list[str] = []
        while not any("index_of_another_version" in line for line in lines):
            lines.append(re.sub(r"\x1b\[[\d;]*m", "", terminal.readline()))
            assert lines[-1], lines
        process.terminate()
        process.wait(PATIENCE_S)
    [greeting] = [n for n, line in enumerate(lines) if line.startswith("Memex answers at")]

    assert not "".join(lines[:greeting]).strip()
    assert "Ctrl-C ends it" in lines[-2]
    assert any("/ui/sign-in/link/mx_" in line for line in lines) == (where == "terminal")
    if where == "terminal":
        assert re.match(r"\d\d:\d\d:\d\d \[warning *\] index_of_another_version +scopes=1", lines[-1])
    else:
        assert json.loads(lines[-1])["command"].endswith("index rebuild --only-stale")


@pytest.mark.parametrize("workers", [pytest.param("1", marks=pytest.mark.slow), "2"])
@pytest.mark.slow
def test_a_second_port_answers_the_health_alone(prepared: Memex, workers: str) -> None:
    """For probes, whatever stands before the other one."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    own = prepared.elsewhere(prepared.data_dir, MEMEX_HEALTH_PORT=str(port), MEMEX_WORKERS=workers)
    statuses = {}
    with own.serve() as serving:
        for path in ("/health/live", "/health/ready", "/v1/me", "/"):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as answer:
                    statuses[path] = answer.status
            except urllib.error.HTTPError as error:
                statuses[path] = error.code
        assert serving.request("/health/live") == {"status": "ok"}

    assert statuses == {"/health/live": 200, "/health/ready": 200, "/v1/me": 503, "/": 503}


@pytest.fixture
def bin_dir(tmp_path: Path) -> Path:
    """A folder with the command `memex`, for a shell's path."""
    program = tmp_path / "memex"
    program.write_text(f"#!{PROGRAM[0]}\n{PROGRAM[2]}\n")
    program.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize("start", ["first", "second"])
@pytest.mark.slow
def test_the_printed_commands_work(memex: Memex, fresh: Memex, bin_dir: Path, start: str) -> None:
    """What is printed for people, pasted into a shell, makes a key if need be, remembers and recalls."""
    if start == "second":
        fresh = memex.elsewhere(memex.data_dir)
        fresh.plain("keys", "create", "--role", "agent")
    shell = fresh.elsewhere(fresh.data_dir, PATH=f"{bin_dir}{os.pathsep}{os.environ['PATH']}")
    process = shell.spawn("serve", "--port", "0", stderr=subprocess.DEVNULL)
    try:
        assert process.stdout is not None
        printed = ""
        while "Ctrl-C" not in printed:
            line = process.stdout.readline()
            assert line, printed
            printed += line
        commands = re.findall(r"^ +((?:curl|MEMEX_API_KEY=)(?:.*\\\n)*.*)$", printed, re.MULTILINE)
        done = subprocess.run(
            ["sh", "-e", "-c", "\necho\n".join(commands)],
            env=shell.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=True,
        )
        docs = re.search(r"http://\S+/docs", printed)
        assert docs is not None
        with urllib.request.urlopen(docs[0], timeout=PATIENCE_S) as response:  # noqa: S310  # http
            assert response.status == 200
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_S)

    remembered, recalled = (json.loads(line) for line in done.stdout.split("\n") if line.startswith("{"))
    assert [write["path"] for write in remembered["writes"]] == ["user/preferences.md"]
    assert "I prefer oolong tea over coffee." in recalled["context"]
    assert len(commands) == (2 if start == "first" else 3)
    assert str(fresh.data_dir) in printed


def test_one_user_gets_a_part_of_the_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """By default a user's calls use as many connections of a worker as keep the cores busy, and leave one free."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))

    def default(connections: int, workers: int, wanted: int | None = None) -> int:
        settings = Settings.model_validate(
            {"MEMEX_MAX_CONNECTIONS": connections, "MEMEX_USER_CONCURRENCY": wanted}
        )
        return user_concurrency(settings, workers)

    assert default(40, 1) == 16
    assert default(40, 4) == 4
    assert default(64, 16) == 3
    assert default(8, 4) == 1
    assert default(40, 4, wanted=9) == 9
