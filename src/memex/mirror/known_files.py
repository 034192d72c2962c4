"""The known files of a folder: digests by size, times and inode, in a small database of the user.

An unchanged file is not read again. The database can be removed at any time: it is made anew from the folder.
"""

import hashlib
import secrets
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memex.errors import ValidationFailed
from memex.homes import state_home
from memex.mirror.reading import Signature

VERSION = 2  # raised when files are read or judged otherwise
SETTLED_NS = (
    2_000_000_000  # a file that changed just before it was read may change again within one tick of the clock
)
DROPPED = [f"drop table if exists {name}" for name in ("file", "folder", "value")]
_TABLES = """
create table file (
  path text primary key, folder text not null, name text not null, size_bytes integer not null,
  changed_ns integer not null, touched_ns integer not null, inode integer not null, read_ns integer not null,
  sha256 blob, reason text) without rowid;
create index file_folder on file (folder);
create table folder (path text primary key) without rowid;
create table value (name text primary key, value text not null) without rowid;
"""


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file as it was looked at last: `sha256` of its text, or the reason why it is left out."""

    path: str
    name: str
    signature: Signature
    read_ns: int
    sha256: bytes | None
    reason: str | None

    def is_current(self, signature: Signature) -> bool:
        """Return whether a file of this signature need not be read again."""
        newest_ns = max(signature.changed_ns, signature.touched_ns)
        return self.signature == signature and self.read_ns - newest_ns > SETTLED_NS


class _Rows(sqlite3.Connection):
    """A connection whose errors are a MemexError: a disk that is full, or a file that is no database any more."""

    file: Path | None = None

    def execute(self, *given: Any) -> sqlite3.Cursor:
        """Run a statement; raises ValidationFailed."""
        with self._told():
            return super().execute(*given)

    def executemany(self, *given: Any) -> sqlite3.Cursor:
        """Run a statement for each row; raises ValidationFailed."""
        with self._told():
            return super().executemany(*given)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise ValidationFailed(
                f"What is known of the files cannot be kept in {self.file}: {error}.",
                hint="Make room on the disk. If the file is damaged, remove it: it is made anew from the folder.",
            ) from None


class KnownFiles:
    """The files of one folder; used in one thread at a time. `file` None keeps them in memory.

    Raises:
        ValidationFailed: the disk is full, or the file is no database; so does each method.
    """

    def __init__(self, file: Path | None) -> None:
        options: Any = {"check_same_thread": False, "isolation_level": None, "factory": _Rows}
        try:
            self._rows: _Rows = sqlite3.connect(file or ":memory:", **options)
        except sqlite3.Error as error:
            raise ValidationFailed(
                f"{file} cannot be opened: {error}.",
                hint="XDG_STATE_HOME names a folder that you can write to.",
            ) from None
        self._rows.file = file
        self._rows.execute("pragma journal_mode = wal")
        self._rows.execute("pragma synchronous = off")  # what is lost is read again
        if self._rows.execute("pragma user_version").fetchone()[0] != VERSION:
            statements = [*DROPPED, *_TABLES.split(";"), f"pragma user_version = {VERSION}"]
            self.begin()
            for statement in filter(str.strip, statements):
                self._rows.execute(statement)
            self.commit()

    def close(self) -> None:
        """Close the database; what cannot be kept is read again."""
        with suppress(ValidationFailed):
            self.commit()
        self._rows.close()

    def begin(self) -> None:
        """Begin changes, which `commit` keeps together."""
        self._rows.execute("begin immediate")

    def commit(self) -> None:
        """Keep the changes so far."""
        if self._rows.in_transaction:
            self._rows.execute("commit")

    @property
    def client(self) -> str:
        """A random name of this client and folder, the same for as long as the database is there."""
        found = self._rows.execute("select value from value where name = 'client'").fetchone()
        if found is None:
            found = (f"docs-{secrets.token_hex(8)}",)
            self._rows.execute("insert into value values ('client', ?)", found)
        return str(found[0])

    def folders(self) -> list[str]:
        """Return the folders that were looked at, by their paths: "" is the root, others end with a slash."""
        return [path for (path,) in self._rows.execute("select path from folder order by path")]

    def has_folder(self, folder: str) -> bool:
        """Return whether a folder was looked at."""
        return self._rows.execute("select 1 from folder where path = ?", (folder,)).fetchone() is not None

    def of_folder(self, folder: str) -> dict[str, KnownFile]:
        """Return the files of a folder by their names, without those of the folders in it."""
        return {file.name: file for file in self._files("where folder = ?", (folder,))}

    def add_folder(self, folder: str) -> bool:
        """Note that a folder was looked at; tell whether it is a new one."""
        done = self._rows.execute("insert or ignore into folder values (?)", (folder,))
        return done.rowcount > 0

    def put(self, folder: str, files: Iterable[KnownFile]) -> None:
        """Note files of a folder."""
        self._rows.executemany(
            "insert or replace into file values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (
                    *(file.path, folder, file.name, file.signature.size_bytes, file.signature.changed_ns),
                    *(
                        file.signature.touched_ns,
                        file.signature.inode,
                        file.read_ns,
                        file.sha256,
                        file.reason,
                    ),
                )
                for file in files
            ),
        )

    def drop(self, paths: Iterable[str]) -> None:
        """Forget files."""
        self._rows.executemany("delete from file where path = ?", ((path,) for path in paths))

    def below(self, folder: str) -> list[KnownFile]:
        """Return the files of a folder and of all folders in it."""
        return list(self._files("where path >= ? and path < ?", _range(folder)))

    def drop_folder(self, folder: str) -> None:
        """Forget a folder with all that is in it."""
        for table in ("file", "folder"):
            self._rows.execute(f"delete from {table} where path >= ? and path < ?", _range(folder))  # noqa: S608

    def subfolders(self, folder: str) -> list[str]:
        """Return the folders that stand directly in a folder."""
        start, end = _range(folder)
        found = self._rows.execute("select path from folder where path > ? and path < ?", (start, end))
        return [path for (path,) in found if "/" not in path[len(folder) : -1]]

    def documents(self, after: str, limit: int) -> list[tuple[str, bytes, int]]:
        """Return the path, the digest and the size of files that are no left-out ones, behind a path, in order."""
        return self._rows.execute(
            "select path, sha256, size_bytes from file where path > ? and sha256 is not null order by path limit ?",
            (after, limit),
        ).fetchall()

    def find(self, path: str) -> KnownFile | None:
        """Return a file by its path."""
        return next(self._files("where path = ?", (path,)), None)

    def count(self) -> tuple[int, int]:
        """Return how many files are documents, and their bytes."""
        found = self._rows.execute(
            "select count(*), coalesce(sum(size_bytes), 0) from file where sha256 is not null"
        )
        files, size_bytes = found.fetchone()
        return int(files), int(size_bytes)

    def left_out(self) -> dict[str, int]:
        """Return how many files and folders are left out, by reason."""
        return dict(
            self._rows.execute(
                "select reason, count(*) from file where reason is not null group by reason order by reason"
            )
        )

    def examples(self, limit: int) -> list[dict[str, str]]:
        """Return some that are left out, the rarest reasons first."""
        found = self._rows.execute(
            "select path, reason from (select path, reason, row_number() over (partition by reason order by path)"
            " as no from file where reason is not null) order by no, path limit ?",
            (limit,),
        )
        return [{"path": path, "reason": reason} for path, reason in found]

    def _files(self, where: str, given: tuple[str, ...]) -> Iterator[KnownFile]:
        columns = "path, name, size_bytes, changed_ns, touched_ns, inode, read_ns, sha256, reason"
        for path, name, *signature, read_ns, sha256, reason in self._rows.execute(
            f"select {columns} from file {where}",  # noqa: S608  # one of the conditions above
            given,
        ):
            yield KnownFile(path, name, Signature(*signature), read_ns, sha256, reason)


def state_folder() -> Path:
    """Return the folder of the state of pushed folders, made for the user alone."""
    folder = state_home() / "memex" / "documents"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise ValidationFailed(
            f"{folder} cannot be used: {error.strerror or error}.",
            hint="XDG_STATE_HOME names a folder that you can write to.",
        ) from None
    return folder


def state_file(folder: Path, named: str, ending: str) -> Path:
    """Return a file of the state of a folder, as it is pushed under a name."""
    key = hashlib.sha256(f"{folder}\0{named}".encode("utf-8", "surrogateescape")).hexdigest()[:24]
    return state_folder() / f"{key}.{ending}"


def _range(folder: str) -> tuple[str, str]:
    """Return the bounds of the paths of a folder: `docs/` up to `docs0`, which comes behind each `docs/…`."""
    return (folder, f"{folder[:-1]}0") if folder else ("", "\U0010ffff")
