"""Commands where the database is a standby, where somebody holds the lock of the schema, and a start that waits."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.faults.rig.postgres import PostgresServer, new_server
from tests.faults.rig.replica import Replica
from tests.kit.forked_commands import Forks

from memex.store.migrate import LOCK_KEY, migrate

TIMEOUT_S = 120.0


def run(forked: Forks, url: str, *arguments: str) -> tuple[int, str, str]:
    """Run a command on a database; return its exit code and what it wrote."""
    environment = {**os.environ, "DATABASE_URL": url}
    code, out, err = forked.run(arguments, environment, b"", timeout_s=TIMEOUT_S)
    return code, out.decode(), err.decode()


async def test_commands_take_no_lock_of_the_database(forked: Forks, conninfo: str) -> None:
    """Behind somebody who holds the lock of the schema they work, and a migration with nothing to do as well."""
    with psycopg.connect(conninfo) as holder:
        holder.execute("select pg_advisory_xact_lock(%s)", [LOCK_KEY])
        ended = [
            run(forked, conninfo, *arguments)
            for arguments in (
                ["write", "user/tea.md", "--content", "Oolong tea."],
                ["list"],
                ["migrate"],
            )
        ]

    assert [code for code, _, _ in ended] == [0, 0, 0], ended
    assert "user/tea.md" in ended[1][1]


async def test_a_command_leaves_an_older_schema_as_it_is(forked: Forks, conninfo: str) -> None:
    """It names the command that updates the schema; an empty database is made ready at its first use."""
    with psycopg.connect(conninfo, autocommit=True) as owner:
        owner.execute("set memex.maintenance = 'on'")
        owner.execute(
            "delete from schema_migration where version = (select max(version) from schema_migration)"
        )
        code, _, err = run(forked, conninfo, "list")
        left = owner.execute("select count(*), max(version) from schema_migration").fetchone()

    assert code == 1
    assert "memex service migrate" in err
    assert left is not None
    assert left[0] == left[1]


@pytest.fixture(scope="module")
def standby(server_folder: Path) -> Iterator[PostgresServer]:
    """A standby of a server with one file in memory; its primary is gone."""
    with new_server(server_folder / "replicated") as primary:
        asyncio.run(migrate(primary.url()))
        written = subprocess.run(
            [sys.executable, "-m", "memex", "write", "user/tea.md", "--content", "Oolong tea."],
            env={**os.environ, "DATABASE_URL": primary.url()},
            check=False,
            capture_output=True,
            timeout=TIMEOUT_S,
        )
        assert written.returncode == 0, written.stderr
        made = primary.standby("standby")
    made.start()
    yield made
    made.stop()


@pytest.mark.slow
def test_reading_commands_answer_on_a_standby(forked: Forks, standby: PostgresServer) -> None:
    """As on a primary."""
    ended = [
        run(forked, standby.url(), *arguments)
        for arguments in (
            ["list"],
            ["read", "user/tea.md"],
            ["find", "oolong"],
            ["context", "oolong"],
            ["log"],
        )
    ]

    assert [code for code, _, _ in ended] == [0] * 5, ended
    assert "Oolong tea." in ended[1][1]


@pytest.mark.slow
def test_writing_commands_say_that_the_server_is_a_standby(forked: Forks, standby: PostgresServer) -> None:
    """And what to do."""
    for arguments in (
        ["write", "user/b.md", "--content", "b"],  # after a minute
        ["keys", "create", "--role", "agent"],
    ):
        code, _, err = run(forked, standby.url(), *arguments)

        assert code == 1, arguments
        assert "STORE_UNAVAILABLE: This server is a read-only standby" in err, arguments
        assert "Promote the standby" in err, arguments


@pytest.mark.slow
def test_a_writing_command_waits_until_the_standby_is_promoted(server_folder: Path) -> None:
    """It says what it waits for, and then writes."""
    with new_server(server_folder / "promoted") as primary:
        asyncio.run(migrate(primary.url()))
        environment = {**os.environ, "DATABASE_URL": primary.url()}
        first = [sys.executable, "-m", "memex", "write", "user/tea.md", "--content", "Oolong tea."]
        assert subprocess.run(first, env=environment, check=False, capture_output=True).returncode == 0
        made = primary.standby("standby-to-promote")
    made.start()
    writing = subprocess.Popen(
        [sys.executable, "-m", "memex", "write", "user/milk.md", "--content", "Milk."],
        env={**os.environ, "DATABASE_URL": made.url()},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert writing.stderr is not None
        said = next(line for line in writing.stderr if "waits_for_database" in line)
        made.promote()
        out, err = writing.communicate(timeout=TIMEOUT_S)
    finally:
        writing.kill()
        made.stop()

    assert "a server that takes writes" in said
    assert writing.returncode == 0, err
    assert "user/milk.md" in out


@pytest.mark.slow
def test_a_start_waits_until_the_standby_is_promoted(standby: PostgresServer, tmp_path: Path) -> None:
    """It says what it waits for, and then serves."""
    replica = Replica("waiting", standby.url(), tmp_path)
    starting = subprocess.Popen(
        [sys.executable, "-m", "memex", "serve", "--json", "--port", str(replica.port)],
        env={**os.environ, "DATABASE_URL": standby.url(), "MEMEX_WORKERS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert starting.stderr is not None
        assert starting.stdout is not None
        line = json.loads(starting.stderr.readline())
        standby.promote()
        ready = json.loads(starting.stdout.readline())
    finally:
        starting.kill()
        starting.communicate()

    assert (line["event"], line["awaits"]) == ("waits_for_database", "a server that takes writes")
    assert f"port={standby.port}" in line["at"]
    assert standby.password not in line["at"]
    assert "agent_key" in ready
