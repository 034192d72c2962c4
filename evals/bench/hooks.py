"""The cost of `memex-hook` for a coding agent: a process for each event, beside a bare `python -c pass`."""

import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from rich.table import Table

from memex.evals.bench.workbench import console
from memex.hook.packs import pack_file

PACK = "A line of where the work stands, with its source.\n" * 70
HOOK = (sys.executable, "-c", "from memex.hook.main import main; main()", "claude-code")


def bench_hooks(*, rounds: int) -> None:
    """Time events of a coding agent as processes: one that is noted, and the start of a session with its pack."""
    with tempfile.TemporaryDirectory() as name, socket.create_server(("127.0.0.1", 0)) as listener:
        folder = Path(name)
        cwd = folder / "repository"
        (cwd / ".git").mkdir(parents=True)
        threading.Thread(target=_serve, args=[listener], daemon=True).start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        tool: dict[str, object] = {
            "hook_event_name": "PostToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": "make test"},
        }
        start: dict[str, object] = {"hook_event_name": "SessionStart", "source": "startup"}
        shared: dict[str, object] = {"session_id": "s", "cwd": str(cwd), "transcript_path": ""}
        alone, served = (
            _state(folder / "alone", cwd, {}),
            _state(folder / "served", cwd, {"url": url, "key": "k"}),
        )
        programs: dict[str, Callable[[], float]] = {
            "bare python -c pass": lambda: _run((sys.executable, "-c", "pass"), {}, alone),
            "memex-hook, a tool was used": lambda: _run(HOOK, shared | tool, alone),
            "memex-hook, a session starts, pack from disk": lambda: _run(HOOK, shared | start, alone),
            "memex-hook, a session starts, pack from a service": lambda: _run(HOOK, shared | start, served),
        }
        samples: dict[str, list[float]] = {each: [] for each in programs}
        for _ in range(rounds * 20):
            for each, run in programs.items():  # in turns, so that all meet the same noise
                samples[each].append(run())
    _show(samples)


def _show(samples: Mapping[str, list[float]]) -> None:
    table = Table("event of a coding agent", "p50 ms", "p95 ms", "p95 of the bare one", title_justify="left")
    bare = next(iter(samples.values()))
    for name, taken in samples.items():
        p95 = _p95(taken)
        table.add_row(name, f"{statistics.median(taken):.0f}", f"{p95:.0f}", f"{p95 / _p95(bare):.1f} ×")
    console.print(table, "", sep="\n")


def _p95(samples: list[float]) -> float:
    return statistics.quantiles(samples, n=20)[-1]


def _run(command: tuple[str, ...], event: Mapping[str, object], environment: Mapping[str, str]) -> float:
    data = json.dumps(event).encode()
    started = time.perf_counter()
    subprocess.run(command, input=data, env=environment, stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - started) * 1_000


def _state(folder: Path, cwd: Path, settings: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a user with capture turned on, for whom deliveries do nothing."""
    state = folder / "memex" / "capture"
    state.mkdir(parents=True)
    (state / "settings.json").write_text(json.dumps({"deliver": ["/bin/true"], **settings}))
    kept = {"cwd": str(cwd.resolve()), "text": PACK, "made_at": time.time()}
    (state / pack_file(str(cwd))).write_text(json.dumps(kept))
    return {**os.environ, "XDG_STATE_HOME": str(folder)}


def _serve(listener: socket.socket) -> None:
    """Answer each request with a pack, as a service does."""
    body = json.dumps({"text": PACK}).encode()
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            connection.recv(65_536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
