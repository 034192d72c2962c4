"""A machine's view of a program that nobody should hear of: whom it calls, and which files it leaves.

The program runs in namespaces that `watcher.py` sets up, with an environment of its own, since variables such as
`CI` keep some libraries quiet that call their makers elsewhere.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WATCHER = Path(__file__).parent / "watcher.py"
MEMEX = (sys.executable, "-m", "memex")
PATIENCE_S = 120.0
IS_ROOT = os.geteuid() == 0


class NotPermitted(Exception):  # what happened, as Memex names its own
    """This machine, or this user on it, has no namespaces of its own."""


@dataclass
class Watched:
    """Programs that are watched from the start to `called` and `left`.

    Attributes:
        home: their home folder, with the data folder `.memex` in it.
        temporary: their folder for temporary files.
        within: the command that runs another one in the namespaces.
        environment: all of it.
    """

    home: Path
    temporary: Path
    within: tuple[str, ...]
    environment: dict[str, str]
    _watcher: "subprocess.Popen[str]" = field(repr=False)

    @property
    def data_dir(self) -> Path:
        """Where a Memex stores what it is given."""
        return Path(self.environment["MEMEX_DATA_DIR"])

    def run(self, *command: str | Path, stdin: str = "", check: bool = True) -> str:
        """Run a command and return what it prints."""
        done = subprocess.run(
            [*self.within, *command],
            input=stdin,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S * 3,
            check=False,
        )
        assert not check or done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def start(self, *command: str, **options: Any) -> "subprocess.Popen[str]":
        """Start a command and return its process."""
        return subprocess.Popen([*self.within, *command], env=self.environment, text=True, **options)

    def called(self) -> set[str]:
        """Return whom programs called, as `watcher.py` writes it, and watch no longer."""
        said, _ = self._watcher.communicate(timeout=PATIENCE_S)
        assert self._watcher.returncode == 0
        return set(said.splitlines())

    def left(self) -> set[str]:
        """Return what lies in the home folder and in the temporary one, without the data folder."""
        found = {
            path
            for top in (self.home, self.temporary)
            for path in top.rglob("*")
            if path != self.data_dir and self.data_dir not in path.parents
        }
        return {str(path.relative_to(self.home.parent)) for path in found}


@contextmanager
def watching(folder: Path) -> Iterator[Watched]:
    """Watch programs until the end of the block.

    Raises:
        NotPermitted: there are no namespaces, or a program that sets them up is missing.
    """
    home, temporary = folder / "home", folder / "tmp"
    for made in (home, temporary):
        made.mkdir()
        made.chmod(0o1777)  # the embedded server may run as another user
    options = ("--net", "--mount") if IS_ROOT else ("--user", "--map-root-user", "--net", "--mount")
    missing = [name for name in ("unshare", "nsenter", "ip", "mount") if not shutil.which(name, path=_path())]
    if missing:
        raise NotPermitted(f"not installed: {', '.join(missing)}")
    kept = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    environment = {"PATH": _path(), "LANG": "C.UTF-8", **kept}
    watcher = subprocess.Popen(
        ["unshare", *options, "--", sys.executable, WATCHER, folder],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert watcher.stdout is not None
        assert watcher.stderr is not None
        if watcher.stdout.readline() != "ready\n":
            raise NotPermitted(watcher.stderr.read()[-300:].strip())
        yield Watched(
            home,
            temporary,
            (*_entering(watcher.pid), f"--wd={home}", "--", *_as_oneself()),
            {
                **environment,
                "HOME": str(home),
                "TMPDIR": str(temporary),
                "MEMEX_DATA_DIR": str(home / ".memex"),
            },
            watcher,
        )
    finally:
        watcher.kill()
        watcher.communicate()


def _path() -> str:
    return f"{os.environ['PATH']}:/usr/sbin:/sbin"


def _entering(pid: int) -> tuple[str, ...]:
    users = () if IS_ROOT else ("--user", "--preserve-credentials")
    return ("nsenter", f"--target={pid}", *users, "--net", "--mount")


def _as_oneself() -> tuple[str, ...]:
    """Return the command that gives up being root of a namespace: Postgres runs as nobody's root."""
    return () if IS_ROOT else ("unshare", f"--map-user={os.getuid()}", f"--map-group={os.getgid()}", "--")
