"""A folder is looked at: which files are documents, with which digests, and what changed since the last time."""

import os
import stat
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from memex.errors import ValidationFailed
from memex.mirror import extraction
from memex.mirror.known_files import KnownFile, KnownFiles
from memex.mirror.reading import FileContent, Signature, read_text
from memex.mirror.rules import (
    FileRules,
    PushPatterns,
    is_unusable,
    read_rules,
    reason_against_name,
)
from memex.store.paths import is_history

NOTHING = Signature(0, 0, 0, 0)
COMMIT_FILES = 2_000
Seen = Callable[[int], None]


@dataclass(slots=True)
class FolderChanges:
    """The changes between two looks, by path: digests of texts before (None for a new file) and now."""

    written: dict[str, tuple[bytes | None, bytes]] = field(default_factory=dict)
    gone: dict[str, bytes] = field(default_factory=dict)
    has_new_folders: bool = False

    def note(self, path: str, before: bytes | None, now: bytes | None) -> None:
        """Note what became of a file; None for one that is no document."""
        if now is not None and now != before:
            self.written[path] = (before, now)
        elif now is None and before is not None:
            self.gone[path] = before


class FolderScan:
    """Looks at one folder and keeps what it finds in `known`.

    Folders below may be unreadable for a while, or other file systems that are not there: what was known of an
    unreadable one stays. Links are not followed, and a file that has
    a name elsewhere too (a hard link) is left out.
    """

    def __init__(self, root: Path, patterns: PushPatterns, known: KnownFiles) -> None:
        self.root = root
        self.patterns = patterns
        self.known = known
        self._handle = -1
        self._changes = FolderChanges()
        self._seen: Seen = lambda _files: None
        self._unsaved = 0
        self._rules: dict[str, FileRules] = {}
        self._again: Collection[str] = ()
        self._names: Counter[tuple[int, int]] | None = None

    def all(self, seen: Seen = lambda _files: None) -> FolderChanges:
        """Look at the whole folder. `seen` is told how many more files were looked at.

        Raises:
            ValidationFailed: the folder is not there, or a pattern of `.memex.toml` is malformed.
        """
        self._rules, self._names = {"": read_rules(self.root, self.patterns)}, None
        return self._look([""], (), seen, is_deep=True)

    def some(self, folders: Iterable[str], again: Collection[str] = ()) -> FolderChanges:
        """Look at some folders that are known, and at new folders in them; read the paths in `again` in any case.

        Raises:
            ValidationFailed: as `all`.
        """
        if not self._rules:
            self._rules = {"": read_rules(self.root, self.patterns)}
        return self._look(sorted(set(folders)), again, lambda _files: None, is_deep=False)

    def read(self, path: str) -> FileContent | None:
        """Return the text of a file now; None if it is not there any more, or cannot be read."""
        known = self.known.find(path)
        handle = self._open()
        try:
            return read_text(handle, path, known.sha256 if known else None)
        except OSError:
            return None
        finally:
            os.close(handle)

    def _look(
        self, folders: list[str], again: Collection[str], seen: Seen, *, is_deep: bool
    ) -> FolderChanges:
        self._changes, self._seen, self._again = FolderChanges(), seen, again
        self._handle = self._open()
        self.known.begin()
        try:
            waiting = folders[::-1]
            while waiting:
                folder = waiting.pop()
                below = self._look_at(folder)
                if is_deep:
                    waiting += below
                else:
                    waiting += [path for path in below if not self.known.has_folder(path)]
        finally:
            os.close(self._handle)
            self.known.commit()
        return self._changes

    def _open(self) -> int:
        try:
            return os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise ValidationFailed(
                f"{self.root} cannot be opened: {error.strerror or error}.",
                hint="Name a folder that is there; what is stored of it stays.",
            ) from None

    def _look_at(self, folder: str) -> list[str]:
        """Look at the files of one folder, and return the folders in it that are to be looked at."""
        here = self.root / folder
        try:
            with os.scandir(here) as listed:
                entries = list(listed)
        except (FileNotFoundError, NotADirectoryError):
            if folder:
                self._forget(folder)
                return []
            raise ValidationFailed(f"{here} is not there any more.") from None
        except OSError:
            return self._keep(folder)
        rules = self._rules_of(folder, here)
        if self.known.add_folder(folder):
            self._changes.has_new_folders = True
        before = self.known.of_folder(folder)
        now: dict[str, KnownFile] = {}
        folders: list[str] = []
        for entry in entries:
            name = entry.name.encode("utf-8", "backslashreplace").decode()
            path = folder + name
            if (found := self._judge(entry, path, rules, before.get(name))) is not None:
                now[name] = found
            elif entry.is_dir(follow_symlinks=False):
                folders.append(f"{path}/")
        self._note(folder, before, now)
        for gone in set(self.known.subfolders(folder)) - set(folders):
            self._forget(gone)
        self._seen(len(entries))
        return folders

    def _judge(
        self, entry: os.DirEntry[str], path: str, rules: FileRules, before: KnownFile | None
    ) -> KnownFile | None:
        """Return a file or a folder that is left out, or a document; None for what nobody looks for."""
        name = entry.name
        if is_history(name):
            return _left_out(path, "folder") if entry.is_dir(follow_symlinks=False) else None
        if is_unusable(entry.name) or is_unusable(path):
            return _left_out(path, "name")
        if entry.is_symlink():
            if not rules.is_wanted(path):
                return None
            return _left_out(path, "link" if self._leads_inside(entry.path) else "link_out")
        if entry.is_dir(follow_symlinks=False):
            reason = rules.reason_against_folder(path, name)
            return _left_out(path, reason) if reason else None
        if (reason := reason_against_name(name)) is not None:
            return _left_out(path, reason)
        if not rules.is_wanted(path):
            return None
        if (reason := rules.reason_against(path)) is not None:
            return _left_out(path, reason)
        try:
            status = entry.stat(follow_symlinks=False)
            if not stat.S_ISREG(status.st_mode):
                return _left_out(path, "special")
            if status.st_nlink > 1 and self._names_inside(status) < status.st_nlink:
                return _left_out(path, "link_out")
            return self._read(path, name, Signature.of(status), before)
        except FileNotFoundError:
            return None
        except OSError:
            is_known = before is not None and before.sha256 is not None
            return before if is_known else _left_out(path, "unreadable")

    def _read(self, path: str, name: str, signature: Signature, before: KnownFile | None) -> KnownFile:
        if (
            before is not None
            and before.is_current(signature)
            and path not in self._again
            and before.reason != "secret"  # a later version may know better
            and not (before.reason == "no_extra" and extraction.is_installed())
        ):
            return before
        read_ns = time.time_ns()
        read = read_text(self._handle, path, before.sha256 if before else None)
        return KnownFile(path, name, read.signature, read_ns, read.sha256, read.reason)

    def _names_inside(self, status: os.stat_result) -> int:
        """Return how many names a file with several has in the folder; a whole look counts all of them once."""
        if self._names is None:
            self._names = Counter()
            for folder, _, names in os.walk(self.root):
                for name in names:
                    with suppress(OSError):
                        found = (Path(folder) / name).lstat()
                        if found.st_nlink > 1:
                            self._names[found.st_dev, found.st_ino] += 1
        return self._names[status.st_dev, status.st_ino]

    def _leads_inside(self, link: str) -> bool:
        try:
            return Path(link).resolve(strict=True).is_relative_to(self.root)
        except (OSError, RuntimeError):  # it leads nowhere, or in a circle
            return False

    def _rules_of(self, folder: str, here: Path) -> FileRules:
        if folder not in self._rules:
            above = folder[:-1].rpartition("/")
            parent = f"{above[0]}/" if above[0] else ""
            self._rules[folder] = self._rules_of(parent, self.root / parent).below(folder, here)
        return self._rules[folder]

    def _note(self, folder: str, before: dict[str, KnownFile], now: dict[str, KnownFile]) -> None:
        changed = [file for name, file in now.items() if before.get(name) != file]
        for file in changed:
            old = before.get(file.name)
            self._changes.note(file.path, old.sha256 if old else None, file.sha256)
        gone = [file for name, file in before.items() if name not in now]
        for file in gone:
            self._changes.note(file.path, file.sha256, None)
        self.known.drop(file.path for file in gone)
        self.known.put(folder, changed)
        self._unsaved += len(changed) + len(gone)
        if self._unsaved > COMMIT_FILES:
            self.known.commit()
            self.known.begin()
            self._unsaved = 0

    def _forget(self, folder: str) -> None:
        """Note that a folder is gone, or left out now, with all files in it."""
        for file in self.known.below(folder):
            self._changes.note(file.path, file.sha256, None)
        self.known.drop_folder(folder)
        for known in [rule for rule in self._rules if rule.startswith(folder)]:
            del self._rules[known]

    def _keep(self, folder: str) -> list[str]:
        """Return the known folders in a folder that cannot be read now, whose files stay as they were."""
        if not folder:
            raise ValidationFailed(f"{self.root} cannot be read.", hint="Look at its permissions.")
        self.known.add_folder(folder)
        above = folder[:-1].rpartition("/")[0]
        self.known.put(f"{above}/" if above else "", [_left_out(folder[:-1], "unreadable")])
        return self.known.subfolders(folder)


def _left_out(path: str, reason: str) -> KnownFile:
    return KnownFile(path, path.rpartition("/")[2], NOTHING, 0, None, reason)
