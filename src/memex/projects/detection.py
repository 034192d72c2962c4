"""Detection of a session's project. The answer says where it comes from, and nothing is guessed silently.

In this order: what the user names (`--project`, `MEMEX_PROJECT`); the repository that the turn changed, else that
of the working directory; of this repository `.memex.toml` at its root, the remote if it is linked to a project, a
line ``Scope: `x` `` of AGENTS.md; the remote; the folder.

What a folder brings along (the remote in its `.git`, `.memex.toml`, AGENTS.md) counts once a person confirmed it
for this folder (`memex work trust`): an archive can name any project, and would be given its work. Until then it is
only shown. What identifies a label is the confirmed remote, or the machine and the root.
"""

import hashlib
import os
import socket
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from memex.projects.named_in_files import clean_name, parse_project_file, scope_line
from memex.projects.repository import Repository, find_repository, resolved
from memex.projects.small_files import read_small
from memex.projects.trust import TrustedFolders
from memex.projects.turn_paths import changed_repository

ProjectSource = Literal["option", "environment", "project_file", "remote", "agents_file", "folder"]
VARIABLE = "MEMEX_PROJECT"
PROJECT_FILE, AGENTS_FILE, GIT_FOLDER = ".memex.toml", "AGENTS.md", ".git"
# Below these, a folder that is no repository is nobody's project.
_SYSTEM_TREES = tuple(
    Path("/", name)
    for name in (
        *("bin", "boot", "dev", "etc", "lib", "lib64", "proc", "run", "sbin", "sys", "usr", "var"),
        *("Library", "System"),
    )
)
_SYSTEM = (
    Path("/"),
    *_SYSTEM_TREES,
    *(Path("/", name) for name in ("home", "media", "mnt", "opt", "root", "srv")),
    *(Path("/", name) for name in ("Applications", "Users", "Volumes", "private")),
)


@dataclass(frozen=True, slots=True)
class DetectedProject:
    """The project of a session, as its client found it.

    Attributes:
        name: shown to people; it is the slug of a project only if `is_confirmed`.
        label: identifies what the session belongs to: `folder:DIGEST` of machine and root, `remote:HOST/PATH` if
            that is confirmed, or `name:SLUG` where a person named it.
        is_confirmed: a person named the project, linked the label, or confirmed what the folder calls itself.
        root: the folder of the project.
        unconfirmed: what the folder calls itself, a project or `remote:HOST/PATH`, if nobody has confirmed it:
            `memex work trust`.
    """

    name: str
    source: ProjectSource
    label: str
    is_confirmed: bool = False
    root: str = ""
    branch: str = ""
    remote: str = ""
    unconfirmed: str = ""

    @property
    def slug(self) -> str | None:
        """The slug of the project, if it is confirmed."""
        return self.name if self.is_confirmed else None

    def metadata(self) -> dict[str, str]:
        """Return what an event of the session says about its project, as texts by name."""
        found = {
            "label": self.label,
            "label_source": self.source,
            "root": self.root,
            "branch": self.branch,
            "remote": self.remote,
        }
        return {name: value for name, value in found.items() if value}


def detect_project(
    folder: Path,
    *,
    option: str | None = None,
    environment: Mapping[str, str] | None = None,
    changed_paths: Iterable[str] = (),
    links: Mapping[str, str] | None = None,
    trusted: TrustedFolders | None = None,
    home: Path | None = None,
) -> DetectedProject | None:
    """Return the project of a session; None for a home, temporary or system folder that nothing else names.

    Args:
        folder: the working directory.
        option: what the user gave with `--project`.
        environment: the variables; those of this process by default.
        changed_paths: the files that the turn changed.
        links: the slug of each label that the user linked; without them, a remote is of the project for which it
            was confirmed.
        trusted: what folders may call themselves.
        home: the user's home.
    """
    variables = os.environ if environment is None else environment
    for source, given in (("option", option), ("environment", variables.get(VARIABLE))):
        if name := clean_name(given):
            return _named_by_user(name, source, folder)  # type: ignore[arg-type]  # a key of the loop above
    home = home or Path(os.path.expanduser("~"))  # noqa: PTH111 - raises nothing for a user without a home
    by_turn = changed_repository(folder, home, changed_paths)
    repository = by_turn or find_repository(folder)
    here = resolved(folder)
    root = repository.root if repository else here
    if root is None or _is_nobodys(root, home, is_repository=repository is not None):
        return None
    inner = "" if by_turn or here is None else here.relative_to(root).as_posix().removeprefix(".")
    place = repository or Repository(root, root)
    return _in_place(place, inner, links=links, trusted=trusted or TrustedFolders())


def names_brought(folder: Path) -> tuple[Path, list[tuple[str, str]]]:
    """Return the folder for which names are confirmed, and each file in it that brings one, with the name.

    All worktrees of a repository are confirmed with it.
    """
    repository = find_repository(folder)
    root = repository.root if repository else folder.resolve()
    found = parse_project_file(read_small(root / PROJECT_FILE, below=root) or "")
    names = [(PROJECT_FILE, name) for name in dict.fromkeys([found.project, *found.folders.values()]) if name]
    if name := scope_line(read_small(root / AGENTS_FILE, below=root) or ""):
        names.append((AGENTS_FILE, name))
    if repository and repository.remote:
        names += [(GIT_FOLDER, remote_label(repository, part)) for part in ("", *found.folders)]
    return repository.shared_root if repository else root, names


def remote_label(repository: Repository, part: str = "") -> str:
    """Return what a repository calls itself, or a part of it that is a project of its own; "" without a remote."""
    return f"remote:{repository.remote}{f'#{part}' if part else ''}" if repository.remote else ""


def folder_label(repository: Repository, part: str = "") -> str:
    """Return what identifies a folder whatever it calls itself: the machine and the root."""
    named = f"{_machine()}\0{repository.shared_root}".encode("utf-8", "surrogatepass")
    return f"folder:{hashlib.sha256(named).hexdigest()[:16]}{f'#{part}' if part else ''}"


def _named_by_user(name: str, source: ProjectSource, folder: Path) -> DetectedProject:
    repository = find_repository(folder)
    root = repository.root if repository else resolved(folder)
    return DetectedProject(
        name,
        source,
        f"name:{name}",
        is_confirmed=True,
        root=str(root or ""),
        branch=repository.branch if repository else "",
        remote=repository.remote if repository else "",
    )


def _in_place(
    repository: Repository, inner: str, *, links: Mapping[str, str] | None, trusted: TrustedFolders
) -> DetectedProject:
    """Return the project of a place that is a project of somebody's."""
    root = repository.root
    by_file, part = parse_project_file(read_small(root / PROJECT_FILE, below=root) or "").project_of(inner)
    remote = remote_label(repository, part)
    meant = _confirmed(remote, repository, trusted) if remote else None
    is_remote = meant is not None and (links is None or links.get(remote, "") == meant)
    label = remote if is_remote else folder_label(repository, part)
    linked = (meant if links is None and is_remote else (links or {}).get(label)) or ""
    brought = "" if is_remote or linked else remote

    def answer(
        name: str, source: ProjectSource, *, is_confirmed: bool, unconfirmed: str = brought
    ) -> DetectedProject:
        return DetectedProject(
            name,
            source,
            f"name:{name}" if is_confirmed and not linked else label,
            is_confirmed=is_confirmed,
            root=str(root / part),
            branch=repository.branch,
            remote=repository.remote,
            unconfirmed="" if is_confirmed else unconfirmed,
        )

    if by_file:
        is_trusted = _confirmed(by_file, repository, trusted) == by_file
        linked = "" if is_trusted else linked
        return answer(by_file, "project_file", is_confirmed=is_trusted, unconfirmed=by_file)
    if linked:
        return answer(linked, "remote" if is_remote else "folder", is_confirmed=True)
    if by_line := scope_line(read_small(root / AGENTS_FILE, below=root) or ""):
        is_trusted = _confirmed(by_line, repository, trusted) == by_line
        return answer(by_line, "agents_file", is_confirmed=is_trusted, unconfirmed=by_line)
    if repository.remote:
        name = clean_name(repository.remote.rpartition("/")[2]) or "repository"
        return answer(name, "remote", is_confirmed=False)
    return answer(clean_name(repository.shared_root.name) or "folder", "folder", is_confirmed=False)


def _confirmed(name: str, repository: Repository, trusted: TrustedFolders) -> str | None:
    """Return the project for which a name was confirmed, of a folder or of the repository of a worktree."""
    places = dict.fromkeys((repository.root, repository.shared_root))
    return next((one for place in places if (one := trusted.project_of(place, name)) is not None), None)


def _is_nobodys(root: Path, home: Path, *, is_repository: bool) -> bool:
    """Return whether a folder is the home, a temporary or a system folder."""
    temporary = {Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp")}  # noqa: S108  # only compared
    places = {*_SYSTEM, *temporary, home, resolved(home)}
    if root in places or root.parent in (Path("/home"), Path("/Users")):
        return True
    return not is_repository and any(root.is_relative_to(tree) for tree in (*_SYSTEM_TREES, *temporary))


@cache
def _machine() -> str:
    """Return what tells this machine from others."""
    return (read_small(Path("/etc/machine-id"), max_bytes=200) or "").strip() or socket.gethostname()
