"""Real coding agents, against a scripted model and a real service. `make test-clients` installs and runs them."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Server
from tests.kit.http_service import Served, serving_http
from tests.kit.model_server import ModelServer

from memex.store.identity import tenants

ROOT = Path(__file__).parents[2]
CLIENTS = Path(os.environ.get("MEMEX_TEST_CLIENTS") or ROOT / "build" / "clients")
PROGRAMS = [CLIENTS / place for place in ("node_modules/.bin", "hermes/bin", "openclaw/node_modules/.bin")]
NODE = CLIENTS / "node" / "node_modules" / ".bin"  # for OpenClaw, which needs a newer one
MEMEX = Path(sys.executable).with_name("memex")
PATIENCE_S = 120.0


@pytest.fixture
def served(embedded_server: Server) -> Iterator[Served]:
    """A service over a fresh database."""
    with embedded_server.lend() as lent, serving_http(lent.conninfo) as served:
        yield served


@dataclass
class Workplace:
    """A user of a coding agent, with a repository, a home of the agent and a state of capture of their own."""

    folder: Path
    served: Served
    model: ModelServer
    key: str

    @property
    def repository(self) -> Path:
        """Where the agent works."""
        return self.folder / "shop"

    @property
    def environment(self) -> dict[str, str]:
        """What the agent sees: no other service, no other model, and no account."""
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("MEMEX_", "ANTHROPIC_"))
        }
        base = self.model.url.removesuffix("/v1")
        return kept | {
            "PATH": os.pathsep.join([str(NODE), kept.get("PATH", "")]),
            "OPENCLAW_STATE_DIR": str(self.folder / "openclaw"),
            "XDG_STATE_HOME": str(self.folder / "state"),
            "CLAUDE_CONFIG_DIR": str(self.folder / "claude"),
            "CODEX_HOME": str(self.folder / "codex"),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "XDG_DATA_HOME": str(self.folder / "data"),
            "HERMES_HOME": str(self.folder / "hermes"),
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "MEMEX_EMBEDDER": "none",
            "PWD": str(self.repository),  # where OpenCode works
            "ANTHROPIC_BASE_URL": base,
            "ANTHROPIC_API_KEY": "sk-ant-scripted",
            "SCRIPTED_KEY": "scripted",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "MEMEX_API_KEY": self.key,
        }

    def run(self, program: str, *arguments: str) -> str:
        """Run a program in the repository to its end; return what it printed."""
        done = subprocess.run(
            [program, *arguments],
            cwd=self.repository,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, (done.stdout, done.stderr)
        return done.stdout + done.stderr

    def memex(self, *arguments: str) -> str:
        """Run `memex` in the repository."""
        return self.run(str(MEMEX), *arguments)

    def wait_for_deliveries(self) -> None:
        """Wait until nothing waits and no process of capture is left.

        The lock of deliveries is not taken here: an event that comes at that moment would start no delivery.
        """
        state = self.folder / "state" / "memex" / "capture"
        waiting = [state / name for name in ("spool.jsonl", "spool.taken")]
        end = time.monotonic() + PATIENCE_S
        while left := [str(one) for one in waiting if one.exists()] or self._processes():
            assert time.monotonic() < end, (left, (state / "delivered.json").read_text())
            time.sleep(0.1)

    def heard(self) -> list[dict[str, Any]]:
        """Return what the service has of the agents' events."""
        return list(self._get("/v1/events/heard")["runtimes"])

    def conversations(self) -> list[dict[str, Any]]:
        """Return the conversations that the service has, the newest first."""
        return list(self._get("/v1/conversations")["conversations"])

    def said(self) -> list[str]:
        """Return the texts of the newest conversation."""
        newest = self.conversations()[0]["id"]
        return [one["text"] for one in self._get(f"/v1/conversations/{newest}")["messages"]]

    def _get(self, path: str) -> Any:
        import httpx2

        answer = httpx2.get(self.served.url + path, headers={"Authorization": f"Bearer {self.key}"})
        return answer.raise_for_status().json()

    def _processes(self) -> Sequence[str]:
        """Return the command lines of programs of capture that run for this user."""
        mark = f"XDG_STATE_HOME={self.folder / 'state'}".encode()
        running = [_command(place, mark) for place in Path("/proc").glob("[0-9]*")]
        return [one for one in running if "memex" in one]


def _command(process: Path, mark: bytes) -> str:
    """Return the command line of a process whose environment has a mark; "" for another one, or one that ended."""
    try:
        is_marked = mark in (process / "environ").read_bytes().split(b"\0")
        return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode() if is_marked else ""
    except OSError:
        return ""


@pytest.fixture
def workplace(tmp_path: Path, served: Served, model_server: ModelServer) -> Workplace:
    """A user with a repository and a key."""
    assert served.service is not None
    key, _ = served.run(tenants.create_key(served.service.database, "default", "agent", user_id="alice"))
    made = Workplace(tmp_path, served, model_server, key)
    made.repository.mkdir()
    subprocess.run(["git", "init", "--quiet"], cwd=made.repository, check=True)
    return made


def program(name: str) -> str:
    """Return a coding agent; skips the test where it was not installed."""
    found = shutil.which(name, path=os.pathsep.join(map(str, PROGRAMS)))
    if found is None:
        pytest.skip(f"{name} is not installed: see what tests/clients/install.sh said")
    return found
