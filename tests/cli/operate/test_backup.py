"""`memex service backup` and `upgrade`, as a user runs them, on both servers."""

import gzip
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from tests.cli.conftest import Memex
from tests.kit.postgres_servers import Server

from memex.store.migrate import migrations

OLDER = Path(__file__).parents[2] / "store" / "older" / "249f7824.sql.gz"


@pytest.mark.slow
def test_a_backup_is_restored_into_an_empty_folder(memex: Memex, server_folder: Path) -> None:
    """With its keys; what was erased since is erased again, and `doctor` says how old the backup is.

    A command that only read has made a database in the folder.
    """
    memex.plain("remember", "I prefer oolong tea.")
    before = memex.plain("doctor")
    memex.plain("remember", "My tutor is called Xanthippe.")
    key = memex.json("keys", "create", "--role", "agent")
    made = memex.json("backup", "create")
    memex.plain("erase", "Xanthippe", "--yes")
    doctor = memex.plain("doctor")
    elsewhere = memex.elsewhere(server_folder / "restored")
    elsewhere.data_dir.mkdir()
    (elsewhere.data_dir / "erasures.jsonl").write_bytes((memex.data_dir / "erasures.jsonl").read_bytes())

    elsewhere.plain("find", "tea")
    checked = elsewhere.json("backup", "restore", made["path"], "--check")
    restored = elsewhere.json("backup", "restore", made["path"])

    assert "• backup    none in" in before
    assert "✓ backup    " in doctor
    assert "0 hours old" in doctor
    assert (checked["restored"], restored["restored"], restored["keys"]) == (False, True, True)
    assert "oolong" in elsewhere.plain("context", "Which tea?")
    assert "anthippe" not in elsewhere.plain("context", "Who is the tutor?")
    assert [one["id"] for one in elsewhere.json("keys", "list")["keys"]] == [key["id"]]
    again = elsewhere.run("backup", "restore", made["path"], "--json")
    assert json.loads(again.err)["code"] == "VALIDATION_ERROR"
    assert "in use" in json.loads(again.err)["message"]
    assert "There is nothing to do." in memex.plain("upgrade")


@pytest.mark.slow
def test_backups_of_one_moment_lie_in_the_folder_that_was_named(memex: Memex, tmp_path: Path) -> None:
    """A folder takes a file that is named by the time, however many begin in one second."""
    memex.plain("list")
    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(lambda _: memex.json("backup", "create", str(tmp_path))["path"], range(2)))

    assert len(set(made)) == 2
    assert sorted(made) == sorted(
        str(file) for file in tmp_path.iterdir() if not file.name.endswith(".keys.zip")
    )


def test_an_upgrade_says_from_where_to_where_and_makes_a_backup(
    memex: Memex, server: Server, empty: str, tmp_path: Path
) -> None:
    """`--check` changes nothing; the backup is of the older schema, and is restored by the same program."""
    with psycopg.connect(empty) as connection:
        connection.execute(gzip.decompress(OLDER.read_bytes()))
    folder = tmp_path / "backups"
    own = memex.elsewhere(tmp_path / "own", DATABASE_URL=empty, MEMEX_BACKUP_DIR=str(folder))
    version = migrations()[-1].version

    checks = [own.run("upgrade", "--check", "--json") for _ in range(2)]
    done = own.json("upgrade")
    after = own.run("upgrade", "--check")

    found = [json.loads(one.out) for one in checks]
    assert [one.code for one in checks] == [1, 1]
    assert found[0] == found[1]
    assert 0 < found[0]["version"] < found[0]["newest"] == version
    assert (done["from"], done["version"]) == (found[0]["version"], version)
    assert done["backup"]["schema"]["memory"] == found[0]["version"]
    assert (after.code, "nothing to do" in after.out) == (0, True)
    target = server.create_empty("memex_upgraded_back")
    try:
        back = own.elsewhere(tmp_path / "back", DATABASE_URL=target)
        restored = back.json("backup", "restore", done["backup"]["path"])
        assert restored["version"] == version
        assert "sencha" in back.plain("read", "user/profile.md", "--user", "alice")
    finally:
        server.drop("memex_upgraded_back")


@pytest.mark.slow
def test_an_older_program_refuses_a_newer_schema_and_a_newer_backup(
    memex: Memex, empty: str, tmp_path: Path
) -> None:
    """With SCHEMA_TOO_NEW, whatever command is run."""
    own = memex.elsewhere(tmp_path / "own", DATABASE_URL=empty)
    own.plain("write", "user/a.md", "--content", "x")
    with psycopg.connect(empty) as connection:
        connection.execute("set local memex.maintenance = 'on'")
        connection.execute("insert into schema_migration (version, name, sha256) values (9999, 'next', '')")

    codes = {
        command[0]: json.loads(own.run(*command, "--json").err.splitlines()[-1])["code"]
        for command in (["list"], ["upgrade"], ["upgrade", "--check"], ["service", "migrate"])
    }
    made = own.json("backup", "create", str(tmp_path / "newer.zip"))
    refused = memex.run("backup", "restore", made["path"], "--json")

    assert set(codes.values()) == {"SCHEMA_TOO_NEW"}
    assert json.loads(refused.err)["code"] == "SCHEMA_TOO_NEW"
