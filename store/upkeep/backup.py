"""Backups: the rows of every table in one zip, which any supported Postgres takes back, whatever wrote them.

`memex.json` in the zip says what the backup holds. Beside it lies the text of `copy` for each table, and the ledger
of erased words. Keys lie in a zip of their own, so a backup alone lets nobody in. What is made anew is left out:
sessions, rates, seals and approximate indexes of vectors.

A backup of an older schema is taken back into that schema, which its migrations make, and is upgraded afterwards.
"""

import json
import os
import re
import uuid
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from psycopg.rows import dict_row
from psycopg.sql import SQL, Composed, Identifier

from memex.errors import StoreUnavailable, ValidationFailed
from memex.store.migrate import JOBS, LOCK_KEY, MEMORY, TRACKS, migrations
from memex.store.sql import sql
from memex.store.upkeep.words import ledger

MANIFEST, LEDGER = "memex.json", "erasures.jsonl"
FORMAT = 1
KEYS_ENDING = ".keys.zip"  # in the place of `.zip`
KEYS = ("api_key",)
LEFT_OUT = ("ui_session", "ui_link", "write_rate", "write_probe", "seal", "embedding_hnsw")
# Commands that only read leave rows in these tables alone; what refers to others comes first.
OF_READS = ("operation", "scope_stat", "scope", "tenant")
KEPT_ROWS: dict[str, LiteralString] = {  # of them: texts that wait, and projects
    "operation": "parent_id is null and status in ('queued', 'quarantined', 'running')",
    "scope": "kind = 'project'",
}
READ_BYTES = 1 << 20
COMPRESSION = 1  # of zlib: a third of the time of the default, for a tenth more bytes

Progress = Callable[[str, int, int], None]
Connection = psycopg.Connection[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Backup:
    """The description of a backup in `memex.json`: the newest migration of each track, the rows of each table."""

    backup_id: str
    memex: str
    postgres: str
    created_at: datetime
    schema: Mapping[str, int]
    columns: Mapping[str, str]
    tables: Mapping[str, int]
    sequences: Mapping[str, int]

    def as_json(self) -> dict[str, Any]:
        """Return the document that `memex.json` holds."""
        document = {name: getattr(self, name) for name in self.__slots__}
        return {"format": FORMAT, **document, "created_at": self.created_at.isoformat()}


def keys_beside(path: Path) -> Path:
    """Return where the keys of a backup lie."""
    return path.with_name(path.name.removesuffix(".zip") + KEYS_ENDING)


def create(conninfo: str, path: Path, *, memex: str, ledger_path: Path, progress: Progress) -> Backup:
    """Write a backup to `path` and its keys beside it, read both again, and return what they hold.

    It is a snapshot: who writes meanwhile waits for nothing, and only migrations wait.

    Raises:
        StoreUnavailable: there is no database of Memex, or what was written is not what was read.
        ValidationFailed: the file exists already, or its folder takes none.
    """
    with _reading(conninfo) as connection:
        schema = _applied(connection)
        if not schema:
            raise StoreUnavailable("There is nothing to back up: the database has no schema of Memex.")
        _amend(connection)
        found = [table for table in _tables(connection) if table["table_name"] not in LEFT_OUT]
        common: dict[str, Any] = {
            "backup_id": str(uuid.uuid4()),
            "memex": memex,
            "postgres": connection.info.parameter_status("server_version"),
            "created_at": datetime.now(UTC),
            "schema": schema,
            "columns": {table["table_name"]: ", ".join(table["columns"]) for table in found},
            "sequences": dict(_sequence(text) for table in found for text in table["sequences"]),
        }
        names = [table["table_name"] for table in found]
        _write(
            connection, keys_beside(path), Backup(**common, tables={}), [*filter(KEYS.__contains__, names)]
        )
        others = [name for name in names if name not in KEYS]
        entries = ledger.read(ledger_path)
        # The backup comes last: when it is there, its keys are.
        return _write(connection, path, Backup(**common, tables={}), others, entries, progress)


def _write(
    connection: Connection,
    path: Path,
    backup: Backup,
    tables: Sequence[str],
    entries: Iterable[Mapping[str, Any]] = (),
    progress: Progress | None = None,
) -> Backup:
    with _new_zip(path) as archive:
        rows = {}
        for number, table in enumerate(tables, 1):
            rows[table] = _copy_out(connection, archive, table, backup.columns[table])
            if progress is not None:
                progress("Back up", number, len(tables))
        archive.writestr(
            LEDGER, b"".join(json.dumps(entry, sort_keys=True).encode() + b"\n" for entry in entries)
        )
        backup = replace(backup, tables=rows)
        archive.writestr(MANIFEST, json.dumps(backup.as_json(), indent=1))
    return backup


def read(path: Path) -> Backup:
    """Return what a backup says that it holds; raises ValidationFailed if the file is no whole backup."""
    with _opened(path) as archive:
        return _manifest(archive, path)


def check(path: Path) -> Backup:
    """Return what a backup holds, having read it whole: every checksum fits, and every table has its rows."""
    with _opened(path) as archive:
        backup = _manifest(archive, path)
        try:
            for table, rows in backup.tables.items():
                with archive.open(_member(table)) as member:
                    if sum(part.count(b"\n") for part in _parts(member)) != rows:
                        raise _broken(path, f"the rows of {table} are not those that it names")
            archive.read(LEDGER)
        except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, ValueError) as error:
            raise _broken(path, str(error)) from error
        return backup


def refuse_used(conninfo: str, backup: Backup) -> None:
    """Raise ValidationFailed unless a database can take a backup: it holds nothing, and has no newer schema."""
    with _reading(conninfo) as connection:
        schema = _applied(connection)
        there = [table["table_name"] for table in _tables(connection)]
        used = [
            name
            for name in there
            if name not in (*LEFT_OUT, *OF_READS)
            and connection.execute(SQL("select from {} limit 1").format(_named(name))).rowcount
        ]
        for name, which in KEPT_ROWS.items():
            others = SQL("select from {} where {} limit 1").format(_named(name), SQL(which))
            if name in there and connection.execute(others).rowcount:
                used.append(name)
    hint = "Let DATABASE_URL name an empty database, or MEMEX_DATA_DIR an empty folder."
    if used:
        raise ValidationFailed(
            f"This database is in use: it has rows in {', '.join(used[:3])}. Nothing was restored.", hint=hint
        )
    if schema and schema[MEMORY.name] != backup.schema[MEMORY.name]:
        raise ValidationFailed(
            f"This database has the schema {schema[MEMORY.name]}, and the backup {backup.schema[MEMORY.name]}.",
            hint=hint,
        )


def restore(conninfo: str, path: Path, *, progress: Progress) -> dict[str, int]:
    """Put the rows of a backup, and its keys if they lie beside it, into a database that has its schema.

    All of them or none. Returns the rows of each table. Vectors are left out where the database cannot hold any.

    Raises:
        ValidationFailed: the backup is not whole, or the keys beside it are of another one.
        StoreUnavailable: the database does not take the rows.
    """
    backup = check(path)
    if backup.tables.keys() <= {*KEYS}:
        raise ValidationFailed(f"{path} holds the keys of a backup alone.", hint="Name the backup beside it.")
    sources = [(path, backup)]
    if (keys := keys_beside(path)).exists():
        if (of_keys := check(keys)).backup_id != backup.backup_id:
            raise ValidationFailed(f"The keys in {keys} are those of another backup.")
        sources.append((keys, of_keys))
    with _maintaining(conninfo) as connection:
        there = {table["table_name"]: table for table in _tables(connection)}
        todo = [
            (source, name, rows)
            for source, held in sources
            for name, rows in held.tables.items()
            if name in there
        ]
        todo.sort(key=lambda one: list(there).index(one[1]))  # what is referred to comes first
        for name in filter(there.__contains__, OF_READS):
            with _unbound(connection, there[name]):
                connection.execute(SQL("delete from {}").format(_named(name)))
        for number, (source, name, rows) in enumerate(todo):
            progress("Restore", number, len(todo))
            with _unbound(connection, there[name]), _opened(source) as archive:
                if _copy_in(connection, archive, name, backup.columns[name]) != rows:
                    raise StoreUnavailable(f"The database did not take all rows of {name}.")
        known = {_sequence(text)[0] for table in there.values() for text in table["sequences"]}
        for sequence, last in backup.sequences.items():
            if last and sequence in known:
                connection.execute("select setval(%s::regclass, %s)", [sequence, last])
        for name in there:
            connection.execute(SQL("analyze {}").format(_named(name)))
        progress("Restore", len(todo), len(todo))
    return {name: rows for _, name, rows in todo}


def restore_ledger(path: Path, ledger_path: Path) -> int:
    """Add the erasures of a backup to the ledger of this machine, which may know more; return how many were new."""
    with _opened(path) as archive:
        lines = archive.read(LEDGER).splitlines()
    known = [json.dumps(entry, sort_keys=True) for entry in ledger.read(ledger_path)]
    new = [line for line in lines if line.decode() not in known]
    for line in new:
        ledger.add(ledger_path, json.loads(line))
    return len(new)


def newest(folder: Path) -> Path | None:
    """Return the newest backup of a folder by its name, which begins with the time; None without one."""
    found = [path for path in folder.glob("memex-*.zip") if not path.name.endswith(KEYS_ENDING)]
    return max(found, default=None)


def schema_of(conninfo: str) -> dict[str, int]:
    """Return the newest migration of each track that ran in a database; nothing for one without a schema."""
    with _reading(conninfo) as connection:
        return _applied(connection)


def _applied(connection: Connection) -> dict[str, int]:
    applied = {}
    for track in TRACKS:
        newest = SQL("select max(version) as newest from {}").format(Identifier(track.table))
        if connection.execute("select from pg_class where oid = to_regclass(%s)", [track.table]).rowcount:
            applied[track.name] = connection.execute(newest).fetchall()[0]["newest"]
    return applied


def _amend(connection: Connection) -> None:
    """Bring tables of migrations that were edited to what today's texts make; it is rolled back at the end."""
    ran = connection.execute("select version, sha256 from schema_migration").fetchall()
    digests = {one["version"]: bytes(one["sha256"]) for one in ran}
    for migration in migrations():
        if migration.had_text(digests.get(migration.version, b"")):
            connection.execute(migration.amendment)


@cache
def _known_tables() -> tuple[str, ...]:
    """Return every table that a migration makes; one that refers to another comes after it."""
    names = {
        f"procrastinate.{name.lower()}" if track is JOBS else name.lower(): None
        for track in TRACKS
        for migration in migrations(track)
        for name in re.findall(r"(?im)^ *create (?:unlogged )?table (?:if not exists )?(\w+)", migration.sql)
    }
    return tuple(names)


def _tables(connection: Connection) -> list[dict[str, Any]]:
    return connection.execute(sql("upkeep/backup_tables"), {"tables": list(_known_tables())}).fetchall()


def _named(table: str) -> Identifier:
    return Identifier(*table.split("."))


def _sequence(text: str) -> tuple[str, int]:
    name, _, last = text.strip("()").rpartition(",")
    return name.strip('"'), int(last)


def _member(table: str) -> str:
    return f"tables/{table}"


def _copy(table: str, columns: str, direction: str) -> Composed:
    return SQL("copy {} ({}) {}").format(_named(table), SQL(columns), SQL(direction))


def _copy_out(connection: Connection, archive: zipfile.ZipFile, table: str, columns: str) -> int:
    with connection.cursor() as cursor, archive.open(_member(table), "w", force_zip64=True) as member:
        held: list[memoryview | bytes] = []
        size = 0
        with cursor.copy(_copy(table, columns, "to stdout")) as copy:
            for row in copy:
                held.append(bytes(row))
                size += len(row)
                if size > READ_BYTES:
                    member.write(b"".join(held))
                    held, size = [], 0
        member.write(b"".join(held))
        return cursor.rowcount


def _copy_in(connection: Connection, archive: zipfile.ZipFile, table: str, columns: str) -> int:
    with connection.cursor() as cursor, archive.open(_member(table)) as member:
        with cursor.copy(_copy(table, columns, "from stdin")) as copy:
            for part in _parts(member):
                copy.write(part)
        return cursor.rowcount


def _parts(member: Any) -> Iterator[bytes]:
    while part := member.read(READ_BYTES):
        yield part


@contextmanager
def _unbound(connection: Connection, table: Mapping[str, Any]) -> Iterator[None]:
    """Let the owner write a table by `copy`, which row-level security does not allow, and no trigger answer."""
    name = _named(table["table_name"])
    forced = table["is_forced"]
    connection.execute(SQL("alter table {} disable trigger user").format(name))
    if forced:
        connection.execute(SQL("alter table {} no force row level security").format(name))
    yield
    connection.execute(SQL("alter table {} enable trigger user").format(name))
    if forced:
        connection.execute(SQL("alter table {} force row level security").format(name))


@contextmanager
def _reading(conninfo: str) -> Iterator[Connection]:
    """A snapshot, of which nothing stays."""
    with _transaction(
        conninfo, "repeatable read", "pg_advisory_xact_lock_shared", rolls_back=True
    ) as connection:
        yield connection


@contextmanager
def _maintaining(conninfo: str) -> Iterator[Connection]:
    with _transaction(conninfo, "read committed", "pg_advisory_xact_lock") as connection:
        yield connection


@contextmanager
def _transaction(conninfo: str, mode: str, lock: str, *, rolls_back: bool = False) -> Iterator[Connection]:
    try:
        with (
            psycopg.connect(
                conninfo, autocommit=True, row_factory=dict_row, prepare_threshold=None
            ) as connection,
            connection.transaction(force_rollback=rolls_back),
        ):
            connection.execute(SQL("set transaction isolation level {}").format(SQL(mode)))
            connection.execute("set local memex.maintenance = 'on'")
            connection.execute("set local statement_timeout = 0")
            connection.execute(SQL("select {}(%s)").format(SQL(lock)), [LOCK_KEY])
            yield connection
    except psycopg.Error as error:
        said = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise StoreUnavailable(f"The database refused: {said}") from error


@contextmanager
def _new_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    """A zip that gets its name when it is whole, on the disk, and was read again."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    try:
        if path.exists():
            raise ValidationFailed(f"{path} exists already.", hint="Name another file.")
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w+b") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=COMPRESSION) as archive:
                yield archive
            file.flush()
            os.fsync(file.fileno())
        check(unfinished)
        unfinished.replace(path)
    except OSError as error:
        raise ValidationFailed(
            f"The backup cannot be written: {error.strerror}.", hint=f"Memex must be able to write {path}."
        ) from error
    finally:
        with suppress(OSError):
            unfinished.unlink()


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise _broken(path, str(error)) from error
    except OSError as error:
        raise ValidationFailed(f"{path} cannot be read: {error.strerror}.") from error


def _manifest(archive: zipfile.ZipFile, path: Path) -> Backup:
    try:
        document = json.loads(archive.read(MANIFEST))
        written = document.pop("format")
        if written != FORMAT:
            raise ValidationFailed(f"{path} has the format {written}, and this Memex reads {FORMAT}.")
        return Backup(**{**document, "created_at": datetime.fromisoformat(document["created_at"])})
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _broken(path, f"{MANIFEST} is missing or unreadable") from error


def _broken(path: Path, why: str) -> ValidationFailed:
    return ValidationFailed(f"{path} is no whole backup of Memex: {why}.", hint="Take another backup.")
