"""The folder of a session: whether it belongs to a project, and what its repository says of itself."""

import os
import re

MAX_LEVELS, MAX_BYTES = 64, 64 << 10
SYSTEM = (
    "/",
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/opt",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/srv",
    "/sys",
)
_ORIGIN = re.compile(r'^\[remote "origin"\]\s{0,20}$')
_URL = re.compile(r"^\s{0,20}url\s{0,20}=\s{0,20}(\S{1,2000})")
_SECRET_OF_URL = re.compile(r"^([a-z+]{1,20}://)[^/@]{1,1000}@")
_SCOPE_LINE = re.compile(r"^Scope: `[^`\n]{1,200}`", re.MULTILINE)


def root_of(cwd: str) -> str | None:
    """Return the folder of the project: the repository, else the nearest one with `.memex.toml` or a scope.

    None where there is none. Home, temporary and system folders are none, whatever they hold.
    """
    folder = os.path.realpath(cwd) if cwd and os.path.isabs(cwd) else ""
    named = None
    for _ in range(MAX_LEVELS):
        if not folder or folder == os.path.dirname(folder):
            break
        if not is_nobodys(folder):
            if os.path.lexists(os.path.join(folder, ".git")):
                return folder
            if named is None and _names_project(folder):
                named = folder
        folder = os.path.dirname(folder)
    return named


def real_folder(cwd: str) -> str:
    """Return a folder as the system names it. A name that is no UTF-8 came with other characters in its place."""
    if "\ufffd" not in cwd or os.path.isdir(cwd):
        return cwd
    try:
        here = os.getcwd()
    except OSError:
        return cwd
    return here if _storable(here) == cwd else cwd


def _storable(name: str) -> str:
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def is_nobodys(folder: str) -> bool:
    """Return whether a folder is the home, a temporary one or one of the system, in which no project lives."""
    home = os.path.realpath(os.path.expanduser("~"))
    shared = {
        os.path.realpath(os.environ.get("TMPDIR") or "/tmp"),
        "/tmp",
        "/var/tmp",
        "/usr",
        "/var",
        "/home",
    }
    return folder == home or folder in SYSTEM or folder in shared


def _names_project(folder: str) -> bool:
    if os.path.lexists(os.path.join(folder, ".memex.toml")):
        return True
    return _SCOPE_LINE.search(_read(os.path.join(folder, "AGENTS.md"))) is not None


def describe(root: str) -> dict[str, str]:
    """Return what a repository says of itself: its root, branch and remote, as far as its files tell."""
    told = {"root": root}
    git = os.path.join(root, ".git")
    if os.path.isfile(git):  # a worktree
        link = _read(git).strip()
        git = os.path.join(root, link.removeprefix("gitdir:").strip()) if link.startswith("gitdir:") else git
    head = _read(os.path.join(git, "HEAD")).strip()
    if head.startswith("ref: refs/heads/"):
        told["branch"] = head.removeprefix("ref: refs/heads/")
    common = _read(os.path.join(git, "commondir")).strip()
    remote = _remote(_read(os.path.join(git, common, "config") if common else os.path.join(git, "config")))
    if remote:
        told["remote"] = remote
    return {name: _storable(value).replace("\0", "")[:2_000] for name, value in told.items()}


def _remote(config: str) -> str:
    is_origin = False
    for line in config.splitlines():
        if line.startswith("["):
            is_origin = _ORIGIN.match(line) is not None
        elif is_origin and (found := _URL.match(line)):
            return _SECRET_OF_URL.sub(r"\1", found[1])
    return ""


def _read(path: str) -> str:
    """Return the beginning of a small file, and "" for anything that is none."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):  # such as a path with a null byte
        return ""
    try:
        return os.read(handle, MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(handle)
