"""Backups: every row comes back as it was, into any server, and nothing comes back of what is not whole."""

import json
import zipfile
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier
from tests.conftest import CallerOf
from tests.kit.catalogue import catalogue, run
from tests.kit.postgres_servers import LentDatabase, Server
from tests.service.erasing.kit import CANARY, plant
from tests.store.test_older_databases import COMMITS, QUICK, load, schema

from memex.errors import StoreUnavailable, ValidationFailed
from memex.service.service import Caller, Service
from memex.store.identity import tenants
from memex.store.migrate import migrate
from memex.store.upkeep import backup
from memex.store.upkeep.words import ledger

TABLES = """
    select oid::regclass::text from pg_class
     where relkind = 'r' and relnamespace = any (array['public', 'procrastinate']::regnamespace[])"""
MADE_BY_MIGRATIONS = {"schema_migration", "jobs_migration", "vectors_migration"}
SEQUENCES = "select schemaname || '.' || sequencename, last_value from pg_sequences order by 1"
OF_NOBODY = ("ui_session", "ui_link", "write_probe")  # the sequences of tables that are left out


def create(conninfo: str, path: Path) -> backup.Backup:
    """Make a backup with a ledger of one line."""
    ledger_path = path.with_name("ledger.jsonl")
    if not ledger_path.exists():
        ledger.add(ledger_path, {"erasure": "one"})
    return backup.create(conninfo, path, memex="1", ledger_path=ledger_path, progress=lambda *_: None)


def restore(conninfo: str, path: Path) -> dict[str, int]:
    """Put a backup back."""
    return backup.restore(conninfo, path, progress=lambda *_: None)


def rows_of(conninfo: str) -> dict[str, list[str]]:
    """Return every row of every table that a backup holds."""
    found = {}
    with psycopg.connect(conninfo) as connection:
        connection.execute("set local memex.maintenance = 'on'")
        for (name,) in connection.execute(TABLES).fetchall():
            if name in MADE_BY_MIGRATIONS | set(backup.LEFT_OUT):
                continue
            of_table = SQL("select to_jsonb(t)::text from {} t order by 1").format(
                Identifier(*name.split("."))
            )
            found[name] = [row for (row,) in connection.execute(of_table).fetchall()]
    return found


def without_epochs(tenants: list[str]) -> list[dict[str, Any]]:
    """Return rows of tenants without the number that each migration may raise."""
    return [{**json.loads(one), "access_epoch": 0} for one in tenants]


def rewrite(path: Path, name: str, change: Any) -> None:
    """Change what stands in a member of a zip, with a right checksum."""
    with zipfile.ZipFile(path) as archive:
        members = {one: archive.read(one) for one in archive.namelist()}
    members[name] = change(members[name])
    with zipfile.ZipFile(path, "w") as archive:
        for one, content in members.items():
            archive.writestr(one, content)


@pytest.mark.both_servers
async def test_every_row_comes_back(
    server: Server, service: Service, lent: LentDatabase, alice: Caller, caller_of: CallerOf, tmp_path: Path
) -> None:
    """Of every table that there is; the schema, its policies and its triggers are those of a new database."""
    admin = await caller_of(None, role="admin")
    await plant(service, alice, admin, tmp_path / "cases")
    await tenants.create_key(service.database, "default", "agent", user_id="alice")
    path = tmp_path / "b.zip"
    target = server.create_empty("memex_restored")

    made = create(lent.conninfo, path)
    await migrate(target, superuser=server.admin, upto=made.schema)
    before = catalogue(target)
    backup.refuse_used(target, made)
    restored = restore(target, path)

    try:
        assert rows_of(target) == rows_of(lent.conninfo)
        assert sum(map(bool, restored.values())) > 20
        assert catalogue(target) == before == catalogue(lent.conninfo)
        ours = [one for one in run(lent.conninfo, SEQUENCES) if not any(name in one[0] for name in OF_NOBODY)]
        assert [one for one in run(target, SEQUENCES) if one in ours] == ours
        with pytest.raises(ValidationFailed, match="in use"):
            backup.refuse_used(target, made)
    finally:
        server.drop("memex_restored")


def test_every_table_is_in_a_backup_or_left_out_by_name(conninfo: str) -> None:
    """A table that a later migration adds is found in its text."""
    known = set(backup._known_tables())

    assert {name for (name,) in run(conninfo, TABLES)} - MADE_BY_MIGRATIONS == known - {
        name for name in known if not run(conninfo, f"select to_regclass('{name}')")[0][0]
    }
    assert {*backup.LEFT_OUT, *backup.KEYS} <= known


async def test_keys_lie_apart(service: Service, lent: LentDatabase, server: Server, tmp_path: Path) -> None:
    """The backup alone holds no key, and is restored without; a second file with the keys of another is refused."""
    await tenants.create_key(service.database, "default", "agent", user_id="alice")
    path, other = tmp_path / "b.zip", tmp_path / "o.zip"
    made = create(lent.conninfo, path)
    create(lent.conninfo, other)
    with zipfile.ZipFile(path) as archive:
        assert "tables/api_key" not in archive.namelist()
    target = server.create_empty("memex_without_keys")
    try:
        await migrate(target, superuser=server.admin)
        backup.keys_beside(path).unlink()
        backup.keys_beside(other).rename(backup.keys_beside(path))
        with pytest.raises(ValidationFailed, match="another backup"):
            restore(target, path)
        backup.refuse_used(target, made)
        backup.keys_beside(path).unlink()
        restore(target, path)

        assert run(target, "select from api_key") == []
        assert run(target, "select name from tenant") == [("default",)]
        assert path.stat().st_mode & 0o777 == 0o600
    finally:
        server.drop("memex_without_keys")


async def test_what_is_not_whole_is_refused_before_anything_is_written(
    service: Service, lent: LentDatabase, alice: Caller, caller_of: CallerOf, server: Server, tmp_path: Path
) -> None:
    """Cut off, with a changed byte, without a row, with a table fewer, of another format."""
    await plant(service, alice, await caller_of(None, role="admin"), tmp_path / "cases")
    path = tmp_path / "b.zip"
    made = create(lent.conninfo, path)
    whole = path.read_bytes()
    target = server.create_empty("memex_not_whole")
    await migrate(target, superuser=server.admin)
    member = "tables/revision"
    with zipfile.ZipFile(path) as archive:
        middle = archive.getinfo(member).header_offset + 200
    try:
        for change in (
            lambda: path.write_bytes(whole[: len(whole) // 2]),
            lambda: path.write_bytes(whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :]),
            lambda: rewrite(path, member, lambda held: held.partition(b"\n")[2]),
            lambda: rewrite(path, "memex.json", lambda held: held.replace(b'"revision"', b'"revisions"')),
            lambda: rewrite(
                path, "memex.json", lambda held: json.dumps({**json.loads(held), "format": 2}).encode()
            ),
            lambda: path.write_bytes(b""),
        ):
            path.write_bytes(whole)
            change()
            with pytest.raises(ValidationFailed):
                restore(target, path)
            backup.refuse_used(target, made)
        path.write_bytes(whole)
        rewrite(path, "tables/link", lambda held: held.replace(b"\t", b"\tx", 1))
        with pytest.raises(StoreUnavailable, match="refused"):
            restore(target, path)  # half of the tables were written by then
        backup.refuse_used(target, made)
        path.write_bytes(whole)
        restore(target, path)
        assert CANARY in "".join(rows_of(target)["revision"]).lower()
    finally:
        server.drop("memex_not_whole")


def test_a_backup_is_not_written_over(conninfo: str, tmp_path: Path) -> None:
    """Neither it nor its keys; and what could not be written leaves nothing."""
    path = tmp_path / "b.zip"
    create(conninfo, path)
    held = path.read_bytes()
    with pytest.raises(ValidationFailed, match="exists already"):
        create(conninfo, path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ValidationFailed, match="cannot be written"):
        backup.create(
            conninfo,
            tmp_path / "file" / "b.zip",
            memex="1",
            ledger_path=tmp_path / "l",
            progress=lambda *_: None,
        )

    assert path.read_bytes() == held
    assert sorted(one.name for one in tmp_path.iterdir()) == ["b.keys.zip", "b.zip", "file", "ledger.jsonl"]
    assert backup.newest(tmp_path) is None  # its name does not begin as those that are made by themselves


def test_an_empty_database_has_nothing_to_back_up(server: Server, empty: str, tmp_path: Path) -> None:
    """The refusal says so."""
    with pytest.raises(StoreUnavailable, match="no schema"):
        create(empty, tmp_path / "b.zip")


def test_a_backup_with_a_flipped_byte_is_refused_or_whole(conninfo: str, tmp_path: Path) -> None:
    """Wherever the byte stands, an error says that the backup is not whole, or nothing of its content changed."""
    path = tmp_path / "b.zip"
    made = create(conninfo, path)
    whole = path.read_bytes()
    refused = 0
    for at in range(0, len(whole), len(whole) // 400):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        try:
            assert backup.check(path).tables == made.tables
        except ValidationFailed:
            refused += 1
    assert refused > 200


def test_the_keys_alone_are_no_backup(conninfo: str, tmp_path: Path) -> None:
    """The file beside the backup is refused, and named for what it is."""
    create(conninfo, path := tmp_path / "b.zip")

    with pytest.raises(ValidationFailed, match="keys of a backup alone"):
        restore(conninfo, backup.keys_beside(path))


def test_the_ledger_of_this_machine_is_kept(conninfo: str, tmp_path: Path) -> None:
    """What a backup knows is added once, behind what was erased since."""
    path, here = tmp_path / "b.zip", tmp_path / "here.jsonl"
    create(conninfo, path)
    ledger.add(here, {"erasure": "later"})

    added = [backup.restore_ledger(path, here) for _ in range(2)]

    assert added == [1, 0]
    assert ledger.read(here) == [{"erasure": "later"}, {"erasure": "one"}]


@pytest.mark.parametrize(
    "commit", [pytest.param(one, marks=() if one in QUICK[:2] else pytest.mark.slow) for one in COMMITS]
)
async def test_a_backup_of_an_older_schema_is_restored_and_upgraded(
    commit: str, server: Server, empty: str, conninfo: str, tmp_path: Path
) -> None:
    """Also where migrations were edited since, it gives the same rows as the upgrade itself."""
    load(empty, commit)
    path = tmp_path / "b.zip"
    made = create(empty, path)
    target = server.create_empty("memex_of_before")
    try:
        await migrate(target, superuser=server.admin, upto=made.schema)
        backup.refuse_used(target, made)
        restore(target, path)
        await migrate(target, superuser=server.admin)
        await migrate(empty, superuser=server.admin)

        assert schema(target).keys() == schema(conninfo).keys()
        upgraded, restored = rows_of(empty), rows_of(target)
        assert without_epochs(restored.pop("tenant")) == without_epochs(upgraded.pop("tenant"))
        assert restored == upgraded
        with pytest.raises(ValidationFailed, match="has the schema"):
            backup.refuse_used(conninfo, made)
    finally:
        server.drop("memex_of_before")


def test_row_level_security_hides_no_row_from_a_backup(server: Server, conninfo: str, tmp_path: Path) -> None:
    """The login that owns the tables is bound by it, and reads all rows in maintenance."""
    with psycopg.connect(make_conninfo(conninfo), autocommit=True) as connection:
        connection.execute("set memex.maintenance = 'on'")
        connection.execute("insert into tenant (name) values ('one'), ('two')")

    made = create(conninfo, tmp_path / "b.zip")

    assert made.schema
    assert backup.check(tmp_path / "b.zip").tables["tenant"] == 2
