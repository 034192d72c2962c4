"""The folders whose files a person trusts to name a project: one confirmation for each folder and project."""

import json
import os
import tempfile
from pathlib import Path

from memex.errors import ValidationFailed
from memex.projects.small_files import read_small

MAX_TRUSTED = 10_000


class TrustedFolders:
    """The confirmed folders, in a file of this user's."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path or trust_file()

    def holds(self, root: Path, project: str) -> bool:
        """Return whether a person confirmed that the files of this folder may name this project."""
        return project in self.projects(root)

    def projects(self, root: Path) -> list[str]:
        """Return the projects that were confirmed for a folder."""
        return self._read().get(str(root), [])

    def add(self, root: Path, project: str) -> bool:
        """Confirm a project for a folder; return whether that is new."""
        known = self._read()
        if project in known.get(str(root), []):
            return False
        if sum(map(len, known.values())) >= MAX_TRUSTED:
            raise ValidationFailed(f"At most {MAX_TRUSTED:,} folders can be trusted.")
        self._write(known | {str(root): [*known.get(str(root), []), project]})
        return True

    def remove(self, root: Path) -> list[str]:
        """Take back what was confirmed for a folder; return the projects."""
        known = self._read()
        removed = known.pop(str(root), [])
        if removed:
            self._write(known)
        return removed

    def _read(self) -> dict[str, list[str]]:
        text = read_small(self._path, max_bytes=16 * 1024 * 1024)
        try:
            document = json.loads(text) if text else {}
        except (ValueError, RecursionError):
            return {}
        if not isinstance(document, dict):
            return {}
        return {
            root: [one for one in projects if isinstance(one, str)]
            for root, projects in document.items()
            if isinstance(projects, list)
        }

    def _write(self, known: dict[str, list[str]]) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=".trusted-")  # its mode is 0600
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(known, file, indent=1, sort_keys=True)
            Path(name).replace(self._path)
        except OSError as error:
            raise ValidationFailed(
                f"{self._path} cannot be written: {error.strerror}.", hint="Nothing was confirmed."
            ) from error


def trust_file() -> Path:
    """Return the file that holds the confirmed folders."""
    state = Path(os.environ.get("XDG_STATE_HOME") or "")
    if not state.is_absolute():  # else the files of a repository could say that the repository is trusted
        state = Path.home() / ".local" / "state"
    return state / "memex" / "trusted-folders.json"
