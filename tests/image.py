"""Plays the Dockerfile of the folder `context` here, as this user; called by image.sh.

The image's folders lie below `root`, so that paths of the Dockerfile get that in front. Both stages share it: what
the second does not copy is deleted. Where the system allows it, the service has its own process namespace, in
which it is the first process, as in a container.
"""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import string
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path.cwd()
CONTEXT, ROOT, PROGRAMS = HERE / "context", HERE / "root", HERE / "programs"
PATIENCE_S = 60.0
OWN_PROCESSES = [
    "unshare",
    "--user",
    "--map-current-user",
    "--pid",
    "--mount-proc",
    "--fork",
    "--kill-child",
    "--",
]


@dataclass(slots=True)
class Image:
    """What the steps leave: folders, and how the service is started, checked and stopped."""

    folders: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    folder: Path = ROOT
    user: str = ""
    made_user: str = ""
    health: list[str] = field(default_factory=list)
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    stop_signal: str = "SIGTERM"

    def play(self, instruction: str, arguments: str) -> None:
        """Do what one instruction says; one that is not known ends the program."""
        match instruction:
            case "FROM":
                self.environment = {"HOME": str(HERE), "PATH": f"{PROGRAMS}:{os.environ['PATH']}"}
                self.folder = ROOT
            case "RUN" if arguments.startswith("useradd "):
                # Only root makes users; what is left of it is that the service runs as the one that is made.
                self.made_user = re.findall(r"--uid (\d+)", arguments)[0]
            case "RUN":
                self.run(["/bin/sh", "-c", self.placed(arguments)])
            case "COPY":
                self.copy(*arguments.split())
            case "ARG":
                name, _, value = arguments.partition("=")
                self.environment[name] = value.strip('"')
            case "ENV":
                name, _, value = arguments.partition("=")
                self.environment[name] = string.Template(self.placed(value)).substitute(self.environment)
            case "WORKDIR" | "VOLUME":
                folder = Path(self.placed(arguments))
                folder.mkdir(parents=True, exist_ok=True)
                self.folder = folder if instruction == "WORKDIR" else self.folder
            case "USER":
                self.user = arguments.partition(":")[0]
            case "HEALTHCHECK":
                self.health = json.loads(arguments.partition(" CMD ")[2])
            case "ENTRYPOINT":
                self.entrypoint = json.loads(arguments)
            case "CMD":
                self.command = json.loads(arguments)
            case "STOPSIGNAL":
                self.stop_signal = arguments
            case "EXPOSE":
                assert arguments == self.environment["MEMEX_PORT"], "the service listens elsewhere"
            case _:
                sys.exit(f"image: {instruction} is not known here")

    def placed(self, text: str) -> str:
        """Return the text with the image's folders where they lie."""
        names = "|".join(map(re.escape, self.folders))
        return re.sub(rf"(?<![\w./-])(?:{names})(?![\w.-])", lambda found: f"{ROOT}{found[0]}", text)

    def copy(self, *arguments: str) -> None:
        """Copy from the context; or keep of the stage before what is copied, and delete the rest."""
        *options, source, target = arguments
        if options:
            assert source == target, "the stages share their root here"
            kept = Path(self.placed(source)).rename(HERE / "kept")
            shutil.rmtree(ROOT)
            Path(self.placed(target)).parent.mkdir(parents=True)
            kept.rename(self.placed(target))
        elif (CONTEXT / source).is_dir():
            shutil.copytree(CONTEXT / source, self.folder / target, symlinks=True)
        else:
            shutil.copy(CONTEXT / source, self.folder / target)

    def run(self, command: list[str]) -> None:
        """Run a command to its end."""
        subprocess.run(command, cwd=self.folder, env=self.environment, check=True)

    def is_healthy(self, port: int) -> bool:
        """Return what the image's own health check says."""
        environment = self.environment | {"MEMEX_PORT": str(port)}
        done = subprocess.run(self.health, cwd=self.folder, env=environment, capture_output=True, check=False)
        return done.returncode == 0

    @contextmanager
    def service(self, port: int) -> Iterator[str]:
        """Start the image, give what it has printed once it is healthy, and stop it as Docker would."""
        isolation = OWN_PROCESSES if _runs([*OWN_PROCESSES, "true"]) else []
        with (HERE / "printed").open("w") as printed, (HERE / "log").open("a") as log:
            process = subprocess.Popen(
                [*isolation, *self.entrypoint, *self.command],
                cwd=self.folder,
                env=self.environment | {"MEMEX_PORT": str(port)},
                stdout=printed,
                stderr=log,
            )
        try:
            deadline = time.monotonic() + PATIENCE_S
            while not self.is_healthy(port):
                assert process.poll() is None, f"the service ended:\n{(HERE / 'log').read_text()}"
                assert time.monotonic() < deadline, f"not healthy:\n{(HERE / 'log').read_text()}"
                time.sleep(0.1)
            yield (HERE / "printed").read_text()
            service = _child(process.pid) if isolation else process.pid
            os.kill(service, signal.Signals[self.stop_signal])
            assert process.wait(PATIENCE_S) == 0, f"the service ended with {process.returncode}"
        finally:
            process.kill()


def _runs(command: Sequence[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def _child(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text())


def steps() -> list[tuple[str, str]]:
    """Return the Dockerfile's instructions with their arguments, each on one line."""
    text = (CONTEXT / "Dockerfile").read_text()
    lines = re.sub(r"^\s*(#.*)?\n", "", text, flags=re.MULTILINE)
    joined = re.sub(r"\s*\\\n\s*", " ", lines)
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in joined.splitlines())]


def built() -> Image:
    """Return the image that the steps make."""
    found = steps()
    folders = [rest for word, rest in found if word in {"WORKDIR", "VOLUME"}]
    folders += [rest.split()[-1] for word, rest in found if word == "COPY" and rest.startswith("--from=")]
    image = Image(tuple(sorted(set(folders))))
    for word, rest in found:
        started = time.monotonic()
        image.play(word, rest)
        if word == "RUN":
            print(f"image: {time.monotonic() - started:5.1f} s  {rest[:80]}", flush=True)  # noqa: T201
    assert image.user == image.made_user, "the service runs as another user than the image makes"
    return image


def call(port: int, key: str, tool: str, **arguments: Any) -> dict[str, Any]:
    """Return a tool's answer."""
    body = json.dumps({"context": {"userId": "alice"}, "arguments": arguments}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/tools/{tool}/execute", body)
    request.add_header("Authorization", f"Bearer {key}")
    request.add_header("Content-Type", "application/json")
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(request, timeout=PATIENCE_S) as response:
        answer: dict[str, Any] = json.load(response)
    return answer


def free_port() -> int:
    """Return a port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
    return port


def main() -> None:
    """Build, start, write, stop, start, read."""
    ROOT.mkdir()
    PROGRAMS.mkdir()
    # The image's Python. No link: an environment made with it would look for its library beside the link.
    (PROGRAMS / "python").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    (PROGRAMS / "python").chmod(0o755)
    image, port = built(), free_port()

    assert not image.is_healthy(port), "the health check passes without a service"
    with image.service(port) as printed:
        found = re.search(r"agent +(mx_\S+)", printed)
        assert found, f"no key was shown:\n{printed}"
        call(port, found[1], "memory_write", path="user/tea.md", content="# Tea\n\nOolong.\n")
    with image.service(port):
        assert call(port, found[1], "memory_read", path="user/tea.md")["content"] == "# Tea\n\nOolong.\n"


if __name__ == "__main__":
    main()
