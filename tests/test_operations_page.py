"""What docs/operations.md says of backup and restore holds, on a stock server with a login of few rights."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import psycopg
import pytest
from tests.conftest import STOCK_BINARIES
from tests.kit.postgres_servers import Server

from memex import Memex

PAGE = (Path(__file__).parents[1] / "docs" / "operations.md").read_text(encoding="utf-8")


def run_in_shell(command: str, folder: Path, environment: dict[str, str]) -> None:
    """Run a command that must succeed."""
    ran = subprocess.run(
        ["sh", "-ec", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr


async def test_a_dump_restores_every_version(stock_server: Server, tmp_path: Path) -> None:
    """The commands of the page, run as the application's login: files, versions, log and keys come back."""
    if not (shutil.which("pg_dump") or STOCK_BINARIES):
        pytest.skip("no pg_dump")
    [dump] = re.findall(r"^PGOPTIONS=.*pg_dump .*$", PAGE, re.MULTILINE)
    [restore] = re.findall(r"^pg_restore .*$", PAGE, re.MULTILINE)
    path = os.pathsep.join([*map(str, STOCK_BINARIES[:1]), os.environ["PATH"]])
    target = stock_server.create_empty("memex_restored")
    with stock_server.lend() as lent:
        source = lent.conninfo
        async with Memex(database_url=source) as memex:
            memory = memex.for_user("alice")
            await memory.remember("I prefer oolong tea.", tool_call_id="call-1")
            await memory.remember("I prefer green tea now.", tool_call_id="call-2")
            before = await memory.context("Which tea?")
        environment = {**os.environ, "PATH": path, "DATABASE_URL": source, "NEW_DATABASE_URL": target}
        for command in (dump, restore):
            run_in_shell(command, tmp_path, environment)
    async with Memex(database_url=target) as memex:
        memory = memex.for_user("alice")
        after = await memory.context("Which tea?")
        versions = await memory.history("user/preferences.md")
        replayed = await memory.replay("call-2")
    with psycopg.connect(target) as connection:
        forced = connection.execute("select count(*) from pg_class where relforcerowsecurity").fetchone()
    stock_server.drop("memex_restored")

    assert after.hash == before.hash
    assert [one.version for one in versions.revisions] == [2, 1]
    assert replayed is not None
    assert forced is not None
    assert forced[0] > 10
