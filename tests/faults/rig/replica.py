"""A service in a process of its own, on a port that stays the same when the service is started again."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.faults.rig.ports import free_port

SERVE = [sys.executable, "-m", "memex", "serve", "--json"]


@dataclass
class Replica:
    """One of several services on the same database.

    Attributes:
        name: of the log.
        database_url: how the service reaches the database.
        folder: for its log.
        wrapper: a command that runs the service, such as `faketime`.
        environment: variables for the service beside those of this process.
        ready: what the service printed when it began to listen.
    """

    name: str
    database_url: str
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    ready: dict[str, Any] = field(default_factory=dict)
    process: "subprocess.Popen[str] | None" = None

    @property
    def url(self) -> str:
        """Where the service listens."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the service and return once it listens."""
        environment = {
            **os.environ,
            "DATABASE_URL": self.database_url,
            "MEMEX_WORKERS": "1",
            **self.environment,
        }
        with (self.folder / f"{self.name}.log").open("ab") as log:
            self.process = subprocess.Popen(
                [*SERVE, "--port", str(self.port)],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=environment,
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.log()
        self.ready |= json.loads(line)

    def kill(self) -> None:
        """Kill the service."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None

    def freeze(self) -> None:
        """Stop the service where it is."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let the service go on."""
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def log(self) -> str:
        """Return the last lines of the service's log."""
        return (self.folder / f"{self.name}.log").read_text(errors="replace")[-4_000:]
