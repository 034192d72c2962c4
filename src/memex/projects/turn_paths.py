"""Signs of a turn's project: paths of repositories, and names of projects."""

import re
from collections.abc import Iterable
from pathlib import Path

from memex.projects.repository import Repository, find_repository

MAX_TEXT_CHARS = 20_000
MAX_PATHS = 50
MAX_PATH_CHARS = 1_000
MIN_NAME_CHARS = 3
_PATH = re.compile(r"(?<![\w/.~-])(?:~|\.{1,2})?/[^\s\"'`<>|;,(){}\[\]]{1,1000}")

_NO_WORD = re.compile(r"[^\w.-]+")


def named_repository(
    folder: Path, home: Path, *, text: str = "", changed_paths: Iterable[str] = ()
) -> Repository | None:
    """Return the one repository that a turn changed or names; None if there is none, or more than one.

    Args:
        folder: the working directory, for relative paths.
        home: the user's.
        text: of the turn.
        changed_paths: the files that the turn changed; they count before the text.
    """
    changed = list(changed_paths)[:MAX_PATHS]
    said = [found.rstrip(".:!?") for found in _PATH.findall(text[:MAX_TEXT_CHARS])][:MAX_PATHS]
    for paths in (changed, said):
        found = _repositories(paths, folder, home)
        if len(found) == 1:
            return found[0]
        if found:
            return None
    return None


def named_project(text: str, known: Iterable[str]) -> str:
    """Return the one known project whose name stands in a text as a word; "" if there is none, or more than one."""
    words = f" {_NO_WORD.sub(' ', text[:MAX_TEXT_CHARS].casefold())} ".replace(". ", " ")
    found = [name for name in known if len(name) >= MIN_NAME_CHARS and f" {name.casefold()} " in words]
    return found[0] if len(found) == 1 else ""


def _repositories(paths: Iterable[str], folder: Path, home: Path) -> list[Repository]:
    found: dict[Path, Repository] = {}
    for path in paths:
        if not 0 < len(path) <= MAX_PATH_CHARS or "\0" in path:
            continue
        full = home / path[2:] if path.startswith("~/") else folder / path
        repository = find_repository(full)
        if repository is not None:
            found.setdefault(repository.root, repository)
    return list(found.values())
