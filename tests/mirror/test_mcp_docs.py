"""`memex mcp --docs`: a folder is watched while a session of an agent lasts."""

import asyncio
import os
import sys
from pathlib import Path

import pytest
from tests.mirror.conftest import ALICE

from mcp import Client, StdioServerParameters
from memex.api.documents import Documents
from memex.api.remote import RemoteMemex
from memex.mirror.roots import PushedRoot, RootsFile
from memex.mirror.watch import watching

PROGRAM = ["-c", "from memex.cli.main import main; main()", "mcp"]


def root_of(folder: Path, remote: RemoteMemex) -> PushedRoot:
    """Return the folder as the root of alice at the service."""
    return PushedRoot(folder.resolve(), "repo", None, remote.url, "alice")


@pytest.mark.slow
async def test_a_folder_is_pushed_while_mcp_runs(remote: RemoteMemex, key: str, folder: Path) -> None:
    """What stands there, and what is saved meanwhile; the tools answer as ever."""
    (folder / "a.md").write_text("# Oolong\n")
    documents = Documents(remote, ALICE)
    state = {name: one for name, one in os.environ.items() if name.startswith("XDG_")}
    service = {"MEMEX_URL": remote.url, "MEMEX_API_KEY": key}
    options = ["--user", "alice", "--docs", str(folder)]
    program = StdioServerParameters(
        command=sys.executable, args=[*PROGRAM, *options], env={**service, **state}
    )
    async with Client(program) as client:
        assert (await client.list_tools()).tools
        (folder / "b.md").write_text("# Sencha\n")
        for _ in range(200):
            if len((await documents.list(root="repo")).documents) == 2:
                break
            await asyncio.sleep(0.1)

    assert [one.path for one in (await documents.list(root="repo")).documents] == ["a.md", "b.md"]


@pytest.mark.slow
async def test_a_folder_that_an_agent_adds_is_watched_on(remote: RemoteMemex, key: str, folder: Path) -> None:
    """With --watch: what is noted for the user is compared as the session begins, and what comes is pushed."""
    (folder / "a.md").write_text("# Oolong\n")
    documents = Documents(remote, ALICE)
    state = {name: one for name, one in os.environ.items() if name.startswith("XDG_")}
    service = {"MEMEX_URL": remote.url, "MEMEX_API_KEY": key}
    RootsFile().put(root_of(folder, remote))
    options = ["--user", "alice", "--profile", "project", "--watch"]
    program = StdioServerParameters(
        command=sys.executable, args=[*PROGRAM, *options], env={**service, **state}
    )
    async with Client(program) as client:
        assert (await client.list_tools()).tools
        (folder / "b.md").write_text("# Sencha\n")
        for _ in range(200):
            if len((await documents.list(root="repo")).documents) == 2:
                break
            await asyncio.sleep(0.1)

    assert [one.path for one in (await documents.list(root="repo")).documents] == ["a.md", "b.md"]


async def test_a_root_that_is_added_is_watched_once(remote: RemoteMemex, folder: Path) -> None:
    """What an agent adds while a session lasts is watched from then on, as what was there before."""
    root = root_of(folder, remote)
    documents = Documents(remote, ALICE)

    async with watching(remote, ALICE, []) as add:
        add(root)
        add(root)
        (folder / "c.md").write_text("# Gyokuro\n")
        for _ in range(200):
            if len((await documents.list(root="repo")).documents) == 1:
                break
            await asyncio.sleep(0.1)

    assert [one.path for one in (await documents.list(root="repo")).documents] == ["c.md"]
