"""The repository of a turn, by the files that it changed."""

from collections.abc import Iterable
from pathlib import Path

from memex.projects.repository import Repository, find_repository

MAX_PATHS = 50
MAX_PATH_CHARS = 1_000


def changed_repository(folder: Path, home: Path, changed_paths: Iterable[str]) -> Repository | None:
    """Return the one repository that a turn changed; None if there is none, or more than one.

    Args:
        folder: the working directory, for relative paths.
        home: the user's.
        changed_paths: the files that the turn changed.
    """
    found: dict[Path, Repository] = {}
    for path in list(changed_paths)[:MAX_PATHS]:
        if not 0 < len(path) <= MAX_PATH_CHARS or "\0" in path:
            continue
        full = home / path[2:] if path.startswith("~/") else folder / path
        repository = find_repository(full)
        if repository is not None:
            found.setdefault(repository.root, repository)
    return next(iter(found.values())) if len(found) == 1 else None
