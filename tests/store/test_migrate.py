"""Migrations: once, in order, whoever starts; and the schema that they make."""

import asyncio
import subprocess
import sys
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from tests.kit.catalogue import CATALOGUE, catalogue, run

from memex.errors import SchemaTooNew, StoreUnavailable
from memex.store import markdown, migrate
from memex.store.database import Database
from memex.store.embedded import server as embedded

PROCESS = """
import asyncio, sys
from memex.store.migrate import migrate
sys.stdin.readline()
print(len(asyncio.run(migrate(sys.argv[1], superuser=sys.argv[2]))))
"""


@pytest.mark.slow
def test_many_processes_migrate_at_once(server_folder: Path) -> None:
    """Ten, over two databases of a server that lacks the roles too: each migration runs once in each."""
    with embedded.start(server_folder / "at-once") as lease:
        owner = psycopg.conninfo.conninfo_to_dict(lease.conninfo)["user"]
        databases = []
        for name in ("one", "two"):
            with psycopg.connect(lease.admin_conninfo, autocommit=True) as connection:
                connection.execute(f"create database {name} owner {owner}".encode())
            databases.append(make_conninfo(lease.conninfo, dbname=name))
        started = [
            subprocess.Popen(
                [sys.executable, "-c", PROCESS, databases[n % 2], lease.admin_conninfo],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for n in range(10)
        ]
        for process in started:
            assert process.stdin
            process.stdin.write("go\n")
            process.stdin.flush()
        ended = [process.communicate(timeout=60) for process in started]

        assert [process.returncode for process in started] == [0] * 10, ended
        known = sum(len(migrate.migrations(track)) for track in migrate.TRACKS)
        for database in (0, 1):
            ran = [int(out.splitlines()[-1]) for out, _ in ended[database::2]]  # behind lines of the log
            assert sorted(ran) == [0, 0, 0, 0, known]
            assert [run(databases[database], f"table {track.table}")[-1][0] for track in migrate.TRACKS] == [
                len(migrate.migrations(track)) for track in migrate.TRACKS
            ]
            assert asyncio.run(_acts_by_role(databases[database]))


async def _acts_by_role(conninfo: str) -> bool:
    database = await Database.open(conninfo)
    await database.close()
    return database.acts_by_role


async def test_migrating_again_changes_nothing(conninfo: str) -> None:
    """What ran is not run again, and needs no right to create."""
    before = run(conninfo, CATALOGUE)

    assert await migrate.migrate(conninfo) == []

    assert run(conninfo, CATALOGUE) == before


async def test_an_unmigrated_database_is_refused_with_the_command(empty: str) -> None:
    """Opening it says what to run."""
    with pytest.raises(StoreUnavailable) as refused:
        await Database.open(empty)

    assert "memex service migrate" in refused.value.hint


async def test_a_newer_schema_is_refused(conninfo: str) -> None:
    """A newer Memex migrated this database: neither opened nor touched."""
    run(conninfo, "insert into schema_migration (version, name, sha256) values (9999, 'later', 'x')")
    before = run(conninfo, CATALOGUE)

    with pytest.raises(SchemaTooNew):
        await Database.open(conninfo)
    with pytest.raises(SchemaTooNew):
        await migrate.migrate(conninfo)

    assert run(conninfo, CATALOGUE) == before


SHIPPED = files("memex.store") / "migrations"
DIGESTS = Path(__file__).with_name("migrations.sha256")
EDITED = """{path} was edited, but databases have run it as it was. Take the edit back, and make the change in a new
migration. If the edit has to stay, the old digest goes into `EDITED` of store/migrate.py, a file in
store/migrations/edited brings the databases of the old text to the new one, and tests/store/older gets such a
database. The line of the new text in tests/store/migrations.sha256 is:
{line}"""
NEW = """{path} is new: add its line to tests/store/migrations.sha256. Once it is committed, it is never edited.
{line}"""


def test_a_migration_that_ran_is_never_edited() -> None:
    """The digests of all tracks are written down a second time."""
    known = dict(reversed(line.split("  ")) for line in DIGESTS.read_text().splitlines())
    shipped = {
        f"{track.folder}/{migration.file_name}.sql": migration.sha256.hex()
        for track in migrate.TRACKS
        for migration in migrate.migrations(track)
    }

    for path, digest in shipped.items():
        text = EDITED if path in known else NEW
        assert known.get(path) == digest, text.format(path=path, line=f"{digest}  {path}")
    assert known.keys() == shipped.keys(), "A migration that ran is never removed or renamed."


def test_an_edited_migration_has_a_way_to_its_new_text() -> None:
    """A file for each, and digests that are not today's."""
    today = {one.file_name: one.sha256.hex() for one in migrate.migrations()}

    ways = {path.name.removesuffix(".sql") for path in (SHIPPED / "edited").iterdir()}
    assert ways == migrate.EDITED.keys()
    for name, digests in migrate.EDITED.items():
        assert today[name] not in digests


async def test_an_edited_migration_is_refused(conninfo: str) -> None:
    """One that ran here with another text: what this database holds is not known."""
    run(conninfo, "update schema_migration set sha256 = sha256('another text')")

    for refusing in (Database.open, migrate.migrate):
        with pytest.raises(StoreUnavailable) as refused:
            await refusing(conninfo)
        assert "0001_memory" in refused.value.message


async def test_migrations_run_all_or_none(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later one that fails takes the earlier ones back."""
    first, *_ = known = migrate.migrations()
    broken = replace(first, version=len(known) + 1, name="broken", sql="create table a (); select 1/0;")
    with monkeypatch.context() as patched:
        patched.setattr(migrate, "migrations", lambda _track: [*known, broken])
        with pytest.raises(psycopg.errors.DivisionByZero):
            await migrate.migrate(empty)

    assert run(empty, "select count(*) from pg_class where relnamespace = 'public'::regnamespace") == [(0,)]
    applied = await migrate.migrate(empty)
    assert [one for one in applied if one.track == "memory"] == known


HEADS = [
    "---\npinned: true\n---\ntext",
    "---\r\ntitle: x\r\nPinned: Yes\r\n---\r\ntext",
    "\ufeff---\npinned:   on  \ntags: [a, b]\n---\n",
    "---\npinned: false\n---\ntext",
    "---\npinned: trueish\n---\ntext",
    "---\nnot-pinned: true\n---\ntext",
    "---\ntitle: x\n---\n\npinned: true\n",
    "# x\n\n---\npinned: true\n---\n",
    "pinned: true\n",
    "",
]
INSERT_HEAD = """
insert into revision
  (scope_id, tenant_id, file_id, version, rev, rev_end, path, content, sha256, operation, deleted, channel,
   tool_call_id, created_at, title, tags, tag_keys, size_chars, path_key, name_key)
values
  (1, 1, %(file)s, %(version)s, %(rev)s, %(rev_end)s, %(path)s, %(text)s, sha256('x'), 'write', %(deleted)s, 'user',
   'call', now(), '', '{}', '{}', 0, '', '')
"""


async def test_files_pinned_before_the_migration_are_found(
    empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the line of their front matter, as the parser reads it; what is closed or deleted stays as it was."""
    with monkeypatch.context() as patched:
        first, *_ = migrate.migrations()
        patched.setattr(migrate, "migrations", lambda track: [first] if track is migrate.MEMORY else [])
        await migrate.migrate(empty)
    with psycopg.connect(empty) as connection:
        connection.execute("set local memex.maintenance = 'on'")
        head = {"version": 1, "rev": 1, "rev_end": None, "deleted": False}
        for number, text in enumerate(HEADS):
            row = head | {"file": number, "path": f"{number}.md", "text": text}
            connection.execute(INSERT_HEAD.encode(), row)
        closed = head | {"file": 100, "path": "closed.md", "text": HEADS[0], "rev_end": 2}
        connection.execute(INSERT_HEAD.encode(), closed)
        deletion = head | {
            "file": 100,
            "path": "closed.md",
            "text": "",
            "rev": 2,
            "version": 2,
            "deleted": True,
        }
        connection.execute(INSERT_HEAD.encode(), deletion)

    applied = await migrate.migrate(empty)

    assert [one.name for one in applied][:1] == ["pinned"]
    pinned = {path for (path,) in run(empty, "select path from revision where pinned")}
    assert pinned == {f"{n}.md" for n, text in enumerate(HEADS) if markdown.describe("a.md", text).pinned}
    assert pinned == {"0.md", "1.md", "2.md"}


@pytest.mark.parametrize("track", migrate.TRACKS, ids=lambda track: track.name)
def test_migrations_are_numbered_without_gaps(track: migrate.Track) -> None:
    """From 1, so that a number says how many ran before."""
    versions = [one.version for one in migrate.migrations(track)]

    assert versions == list(range(1, len(versions) + 1))
    assert versions


def install_pgvector(server: Any, conninfo: str) -> None:
    """Install it as the superuser, who alone may on these servers."""
    name = psycopg.conninfo.conninfo_to_dict(conninfo)["dbname"]
    with psycopg.connect(make_conninfo(server.admin, dbname=name)) as connection:
        connection.execute("create extension vector")


async def test_the_schema_files_are_what_the_migrations_make(conninfo: str, empty: str, server: Any) -> None:
    """Tables, columns, constraints, indexes, policies, functions, storage, grants: one database from each.

    The queue's own migrations are its schema: they are made anew in both.
    """
    migrated = catalogue(conninfo)
    has_vectors = ("table", "embedding") in migrated
    names = ["schema.sql", "schema_vectors.sql"] if has_vectors else ["schema.sql"]
    if has_vectors:
        install_pgvector(server, empty)
    async with await psycopg.AsyncConnection.connect(empty) as connection:
        for name in names:
            await connection.execute((files("memex.store") / name).read_bytes())
        await migrate.write_roles(connection)
    read = catalogue(empty)
    jobs = {key for key in migrated if key[1].startswith(("jobs_migration", "remember_later"))}

    kinds = {"table", "column", "constraint", "index", "policy", "function", "trigger"}
    assert {kind for kind, _ in migrated} == kinds
    assert {key: migrated[key] for key in migrated.keys() - jobs} == read


async def test_the_queue_is_what_its_library_expects(conninfo: str, empty: str) -> None:
    """The installed Procrastinate's own schema, and what the migration says that Memex changes of it."""
    with psycopg.connect(empty) as connection:
        connection.execute("create schema procrastinate")
        connection.execute("set local search_path = procrastinate")
        connection.execute((files("procrastinate.sql") / "schema.sql").read_bytes())
    ours, theirs = (
        {tuple(row[:2]): row[2] for row in run(place, CATALOGUE.replace("'public'", "'procrastinate'"))}
        for place in (conninfo, empty)
    )

    changed = {key for key in ours if ours[key] != theirs.get(key)}
    assert theirs.keys() <= ours.keys()
    assert changed == {
        ("function", "free_queueing_lock"),
        ("trigger", "procrastinate.procrastinate_jobs.free_queueing_lock"),
        ("trigger", "procrastinate.procrastinate_jobs.procrastinate_jobs_notify_queue_job_inserted_v1"),
    }


async def test_vectors_come_where_the_server_has_them(empty: str, server: Any) -> None:
    """With pgvector they are there after the first migration; without it everything else is."""
    await migrate.migrate(empty, superuser=server.admin)
    database = await Database.open(empty)
    await database.close()

    assert database.has_vectors == (server.kind == "embedded")
    assert run(empty, "select to_regclass('procrastinate.procrastinate_jobs') is not null") == [(True,)]


async def test_vectors_come_later_too(empty: str, server: Any) -> None:
    """Once somebody has installed pgvector, the next migration brings them."""
    if server.kind != "embedded":
        pytest.skip("no pgvector here")
    first = await migrate.migrate(empty)
    install_pgvector(server, empty)

    assert {one.track for one in first} == {"memory", "jobs"}
    assert [one.name for one in await migrate.migrate(empty)] == ["embedding", "forget_vectors"]


async def test_a_queue_of_somebody_else_is_left_alone(empty: str, server: Any) -> None:
    """A schema of its name that we did not make: the memory is there, jobs and vectors are not."""
    run(empty, "create schema procrastinate")

    applied = await migrate.migrate(empty, superuser=server.admin)

    assert {one.track for one in applied} == {"memory"}
    database = await Database.open(empty)
    await database.close()
    assert not database.has_vectors
