"""`memex mcp --docs`: a folder is watched while a session of an agent lasts."""

import asyncio
import os
import sys
from pathlib import Path

from tests.mirror.conftest import ALICE

from mcp import Client, StdioServerParameters
from memex.api.documents import Documents
from memex.api.remote import RemoteMemex

PROGRAM = ["-c", "from memex.cli.main import main; main()", "mcp"]


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
