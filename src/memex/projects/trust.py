"""Names that folders may call themselves by: a person confirms each folder, name and project once.

A folder brings names along, whoever made it: the remote in its `.git`, a project in `.memex.toml`, a line of
AGENTS.md. None counts before it is confirmed for the real path of this folder. Variables are no such names, since a
folder sets none.
"""

import fcntl
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memex.errors import ValidationFailed
from memex.homes import state_home
from memex.projects.small_files import read_small

MAX_TRUSTED = 10_000


class TrustedFolders:
    """The confirmed names, in a file of this user's: by folder and name, the project that was meant.

    A name that a file gives is a project; a remote (`remote:HOST/PATH`) is of the project that it was linked to
    then, "" if it was of none.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path or trust_file()

    def holds(self, root: Path, name: str, project: str | None = None) -> bool:
        """Return whether a person confirmed a name for this folder, for the project of this name or for another."""
        return self.project_of(root, name) == (name if project is None else project)

    def project_of(self, root: Path, name: str) -> str | None:
        """Return the project for which a name was confirmed; None if it was not."""
        return self._read().get(str(root), {}).get(name)

    def folders_of(self, name: str) -> list[str]:
        """Return the folders for which a name was confirmed."""
        return sorted(root for root, names in self._read().items() if name in names)

    def add(self, root: Path, name: str, project: str | None = None) -> bool:
        """Confirm a name for a folder and a project; return whether that is new."""
        meant = name if project is None else project
        with self._changing() as known:
            names = known.setdefault(str(root), {})
            if names.get(name) == meant:
                return False
            if name not in names and sum(map(len, known.values())) >= MAX_TRUSTED:
                raise ValidationFailed(f"At most {MAX_TRUSTED:,} names of folders can be confirmed.")
            names[name] = meant
            self._write(known)
        return True

    def remove(self, root: Path) -> list[str]:
        """Take back what was confirmed for a folder; return the names."""
        with self._changing() as known:
            removed = known.pop(str(root), {})
            if removed:
                self._write(known)
        return list(removed)

    @contextmanager
    def _changing(self) -> Iterator[dict[str, dict[str, str]]]:
        """Give what is confirmed; no other process changes it meanwhile."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = os.open(self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._not_written(error) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield self._read()
        finally:
            os.close(lock)

    def _read(self) -> dict[str, dict[str, str]]:
        text = read_small(self._path, max_bytes=16 * 1024 * 1024)
        try:
            document = json.loads(text) if text else {}
        except (ValueError, RecursionError):
            return {}
        return {root: _names(given) for root, given in document.items()} if isinstance(document, dict) else {}

    def _write(self, known: dict[str, dict[str, str]]) -> None:
        try:
            handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=".trusted-")  # its mode is 0600
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(known, file, indent=1, sort_keys=True)
            Path(name).replace(self._path)
        except OSError as error:
            raise self._not_written(error) from error

    def _not_written(self, error: OSError) -> ValidationFailed:
        return ValidationFailed(
            f"{self._path} cannot be written: {error.strerror}.", hint="Nothing was confirmed."
        )


def _names(given: object) -> dict[str, str]:
    """Return the names of a folder with their projects; earlier versions wrote a list of projects."""
    pairs = {path: path for path in given if isinstance(path, str)} if isinstance(given, list) else given
    if not isinstance(pairs, dict):
        return {}
    return {name: project for name, project in pairs.items() if isinstance(project, str)}


def trust_file() -> Path:
    """Return the file that holds the confirmed folders."""
    return state_home() / "memex" / "trusted-folders.json"
