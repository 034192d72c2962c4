"""The git repository of a folder: its root, branch and remote, read from its files without running git."""

import re
from dataclasses import dataclass
from pathlib import Path

from memex.projects.remotes import normalise_remote
from memex.projects.small_files import read_small

MAX_DEPTH = 64
MAX_BRANCH_CHARS = 200
_SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"([^"\n]*)")?\s*\]')
_HEAD_OF_BRANCH = "ref: refs/heads/"


@dataclass(frozen=True, slots=True)
class Repository:
    """A git repository, or a worktree of one.

    Attributes:
        root: the folder of the files, resolved.
        shared_root: the same for all worktrees that the repository itself knows; `root` for any other folder.
        remote: `host/path` of the remote `origin`, or of the only remote; "" if there is none.
        branch: "" if none is checked out.
    """

    root: Path
    shared_root: Path
    remote: str = ""
    branch: str = ""


def find_repository(folder: Path) -> Repository | None:
    """Return the repository that a folder or a file stands in; None if it stands in none."""
    here = resolved(folder)
    if here is None:
        return None
    for root in [here, *here.parents][:MAX_DEPTH]:
        if (git := _git_folder(root)) is not None:
            return _read(root, git)
    return None


def _git_folder(root: Path) -> Path | None:
    dot_git = root / ".git"
    try:
        if dot_git.is_dir():
            return dot_git if (dot_git / "HEAD").is_file() else None
        if not dot_git.is_file():
            return None
    except (OSError, ValueError):
        return None
    text = read_small(dot_git, max_bytes=4096) or ""
    if not text.startswith("gitdir:"):
        return None
    return resolved(root / text.removeprefix("gitdir:").strip())


def resolved(path: Path) -> Path | None:
    """Return a path without links; None for one that no file can have, such as a loop or one with a null byte."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return None


def _read(root: Path, git: Path) -> Repository:
    common, shared_root = git, root
    if link := (read_small(git / "commondir", max_bytes=4096) or "").strip():
        common = resolved(git / link) or git
        if _is_worktree(root, git, common):
            shared_root = _files_of(common)
    remotes = _remotes(read_small(common / "config") or "")
    chosen = remotes.get("origin") or (next(iter(remotes.values())) if len(remotes) == 1 else "")
    head = (read_small(git / "HEAD", max_bytes=4096) or "").strip()
    branch = head.removeprefix(_HEAD_OF_BRANCH) if head.startswith(_HEAD_OF_BRANCH) else ""
    is_shown = branch.isprintable() and len(branch) <= MAX_BRANCH_CHARS
    return Repository(root, shared_root, normalise_remote(chosen) or "", branch if is_shown else "")


def _files_of(common: Path) -> Path:
    """Return the folder of the files of a repository: beside `.git`, or where a submodule says that they are."""
    if common.name == ".git":
        return common.parent
    section = ""
    for line in (read_small(common / "config") or "").splitlines():
        text = line.strip()
        if found := _SECTION.match(text):
            section = found[1].lower()
        elif section == "core" and text.partition("=")[0].strip().lower() == "worktree":
            files = resolved(common / text.partition("=")[2].strip().strip('"'))
            if files is not None and _git_folder(files) == common:
                return files
    return common


def _is_worktree(root: Path, git: Path, common: Path) -> bool:
    """Return whether a repository names a folder as its worktree: the folder itself could name any repository."""
    named = (read_small(git / "gitdir", max_bytes=4096) or "").strip()
    back = git / named
    return git.parent == common / "worktrees" and back.name == ".git" and resolved(back.parent) == root


def _remotes(config: str) -> dict[str, str]:
    """Return the address of each remote that a configuration of git names."""
    found: dict[str, str] = {}
    remote: str | None = None
    for line in config.splitlines():
        text = line.strip()
        if section := _SECTION.match(text):
            remote = section[2] if section[1].lower() == "remote" else None
            continue
        key, _, value = text.partition("=")
        if remote is not None and key.strip().lower() == "url":
            found.setdefault(remote, value.strip().strip('"'))
    return found
