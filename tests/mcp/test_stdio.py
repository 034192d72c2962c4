"""`memex mcp` as a client's program starts it: over stdin and stdout."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.types import TextContent
from tests.http.conftest import KeyOf
from tests.kit.forked_commands import Forks
from tests.kit.http_service import Served
from tests.kit.mcp_results import result_of

from mcp import Client, StdioServerParameters
from memex.mcp.tools import McpProfile
from memex.service.service import TOOLS

PROGRAM = [sys.executable, "-c", "from memex.cli.main import main; main()", "mcp"]
PATIENCE_S = 60
NOWHERE = "http://127.0.0.1:9"
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "by-hand", "version": "1"},
    },
}


@pytest.fixture(scope="module")
def here(embedded_server: Any) -> Iterator[dict[str, str]]:
    """The environment of programs that have one database among themselves."""
    with embedded_server.lend() as lent:
        yield {"DATABASE_URL": lent.conninfo, "MEMEX_EMBEDDER": "none"}


Program = Callable[..., StdioServerParameters]


@pytest.fixture(scope="module")
def program(forked: Forks, tmp_path_factory: pytest.TempPathFactory) -> Program:
    """How a client starts the program: `program(environment, "--profile", "files")`."""
    memex = tmp_path_factory.mktemp("bin") / "memex"
    forked.program(memex)
    return lambda environment, *options, cwd=None: StdioServerParameters(
        command=str(memex), args=["mcp", *options], env=environment, cwd=cwd
    )


@pytest.mark.slow
async def test_memory_in_the_programs_own_process(program: Program, here: dict[str, str]) -> None:
    """For the user me unless another is named; a second program on the same data recalls what one remembered."""
    async with Client(program(here)) as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        await client.call_tool("memory_remember", {"text": "I prefer oolong tea."})
    async with Client(program(here, "--profile", "admin", "--user", "me"), mode="legacy") as admin:
        all_tools = {tool.name for tool in (await admin.list_tools()).tools}
        calls = await admin.call_tool("memory_operations", {})
        recalled = await admin.call_tool("memory_context", {"query": "Which tea?"})

    [content] = recalled.content
    [remembered] = calls.structured_content["operations"]
    assert listed == ["memory_remember", "memory_context"]
    assert all_tools == {
        *(*TOOLS, "memory_operations", "memory_operation", "memory_revert"),
        *("memory_removed", "memory_put_back"),
    }
    assert isinstance(content, TextContent)
    assert "\n- I prefer oolong tea. (" in content.text
    assert remembered["tool"] == "memory_remember"
    assert (remembered["principal"]["user"], remembered["principal"]["actor"]) == ("me", "mcp")


@pytest.mark.parametrize("profile", ["files", "admin"])
async def test_memory_at_a_service(
    program: Program, served: Served, key_of: KeyOf, profile: McpProfile
) -> None:
    """By MEMEX_URL and MEMEX_API_KEY: the same tools, results, errors and ids, for whom the key or --user says."""
    role = "admin" if profile == "admin" else "agent"
    there = {"MEMEX_URL": served.url, "MEMEX_API_KEY": key_of(role)}
    meta: Any = {"memex/toolCallId": f"call-{profile}"}

    async with Client(program(there, "--profile", profile, "--user", "zoë")) as client:
        written = await client.call_tool("memory_write", {"path": "user/a.md", "content": "# A\n"}, meta=meta)
        again = await client.call_tool("memory_write", {"path": "user/a.md", "content": "# B\n"}, meta=meta)
        listed = (await client.list_resources()).resources
        told = await client.get_prompt("memory")
        if profile == "admin":
            logged = await client.call_tool("memory_operation", meta and {"tool_call_id": f"call-{profile}"})
            undone = await client.call_tool("memory_revert", {"tool_call_id": f"call-{profile}"})
            assert len(logged.structured_content["attempts"]) == 2
            assert undone.structured_content["writes"][0]["deleted"]

    assert written.structured_content["tool_call_id"] == f"call-{profile}"
    assert again.is_error
    assert again.meta is not None
    assert again.meta["memex/error"]["code"] == "TOOL_CALL_CONFLICT"
    assert [resource.uri for resource in listed] == ["memex://user/a.md"]
    assert "- user/a.md" in str(told.messages)


@pytest.mark.parametrize("is_remote", [False, True])
async def test_a_program_beside_the_files_pushes_them(
    program: Program, here: dict[str, str], served: Served, key_of: KeyOf, is_remote: bool, tmp_path: Path
) -> None:
    """Whose machine it is makes projects; at a service an administrator does. Folders are pushed and synced.

    A call names no folder but that in which the program was started, those below it and those that are noted.
    """
    environment = {"MEMEX_URL": served.url, "MEMEX_API_KEY": key_of("agent")} if is_remote else here
    environment = environment | {
        "MEMEX_PROJECT": "shop",
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "README.md").write_text("# Shop\n\nIt is deployed with make ship.\n")
    (folder / ".env").write_text("PASSWORD=1\n")

    other = tmp_path / "other"
    other.mkdir()
    (folder / "out").symlink_to(other)
    ways = (str(other), f"{folder}/../other", str(folder / "out"), str(tmp_path), "/etc", str(Path.home()))

    started = program(environment, "--profile", "project", "--user", "ida", cwd=folder)
    async with Client(started) as client:
        refused = await client.call_tool("init_project", {})
        if is_remote:
            admin = {"Authorization": f"Bearer {key_of('admin')}"}
            for path in ("", "/members/ida"):
                url = f"{served.url}/v1/admin/projects/shop{path}"
                assert httpx2.put(url, headers=admin).is_success
        made = await client.call_tool("init_project", {"watch_paths": [str(folder)]})
        (folder / "ship.md").write_text("# Ship\n\nShips leave on Mondays.\n")
        synced = await client.call_tool("index_files", {})
        found = await client.call_tool("search_memories", {"query": "ships on Mondays", "limit": 1})
        outside = [await client.call_tool("init_project", {"watch_paths": [path]}) for path in ways]
    noted = (tmp_path / "config" / "memex" / "documents.toml").read_text()
    wide = program(environment, "--profile", "project", "--user", "ida", cwd="/")
    async with Client(wide) as client:
        unopened = await client.call_tool("init_project", {"watch_paths": [str(other)]})
        opened = await client.call_tool("init_project", {"watch_paths": [str(folder)]})

    assert refused.is_error == is_remote
    assert not is_remote or "memex projects create shop" in str(refused.content)
    [pushed] = made.structured_content["pushed"]
    assert (pushed["root"], pushed["documents"], sum(pushed["left_out"].values())) == ("shop", 1, 1)
    assert made.structured_content["next"] == ["memex docs watch"]
    assert [one["created"] for one in synced.structured_content["pushed"]] == [1]
    assert synced.structured_content["next"] == []
    assert found.structured_content["hits"][0]["source"] == "ship.md > Ship"
    assert all(answer.is_error for answer in (*outside, unopened))
    assert f"memex docs push {other} --project shop" in str(unopened.content)
    assert noted.count("[[roots]]") == 1
    assert not opened.is_error


@pytest.mark.parametrize("is_remote", [False, True])
async def test_conversations_have_a_profile(
    program: Program, here: dict[str, str], served: Served, key_of: KeyOf, is_remote: bool
) -> None:
    """In the program's own process and at a service: three more tools, which say what to do without an import."""
    environment = {"MEMEX_URL": served.url, "MEMEX_API_KEY": key_of("agent")} if is_remote else here

    async with Client(program(environment, "--profile", "conversations", "--user", "ida")) as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        found = await client.call_tool("conversation_find", {"query": "oolong"})

    assert listed == {
        "memory_remember",
        "memory_context",
        "conversation_find",
        "conversation_read",
        "conversation_list",
    }
    assert result_of(found)["hits"] == []
    assert "memex conversations ingest" in result_of(found)["guidance"][0]


def test_it_ends_with_its_input(forked: Forks, here: dict[str, str]) -> None:
    """And says nothing on stdout but the protocol, also to what is no message."""
    given = json.dumps(HELLO) + "\nnot JSON\n"

    code, out, err = forked.run(["mcp"], here, given.encode(), timeout_s=PATIENCE_S)

    [hello] = [json.loads(line) for line in out.splitlines()]
    assert code == 0, err
    assert hello["result"]["serverInfo"]["name"] == "memex"


@pytest.mark.slow
def test_it_ends_on_a_signal_though_its_input_is_open(here: dict[str, str]) -> None:
    """As a client's program ends it that does not close pipes."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = subprocess.Popen(PROGRAM, env={**os.environ, **here}, text=True, **pipes)  # type: ignore[call-overload]
    process.stdin.write(json.dumps(HELLO) + "\n")
    process.stdin.flush()
    hello = json.loads(process.stdout.readline())

    process.send_signal(signal.SIGTERM)
    code = process.wait(PATIENCE_S)  # before stdin is closed

    out, err = process.communicate()
    assert hello["result"]["protocolVersion"] == "2025-06-18"
    assert (code, out) == (0, ""), err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("environment", "options", "code", "hint"),
    [
        ({"MEMEX_URL": NOWHERE}, [], "VALIDATION_ERROR", "Set MEMEX_API_KEY"),
        ({}, ["--url", NOWHERE, "--tenant", "acme"], "VALIDATION_ERROR", "use a key of that tenant"),
        ({"DATABASE_URL": "postgresql://127.0.0.1:9/none"}, [], "STORE_UNAVAILABLE", "memex doctor"),
    ],
)
def test_what_is_wrong_with_the_setup_goes_to_stderr(
    forked: Forks, environment: dict[str, str], options: list[str], code: str, hint: str
) -> None:
    """With a code and what to do, and nothing on stdout."""
    status, out, err = forked.run(["mcp", *options], environment, b"", timeout_s=PATIENCE_S)

    assert (status, out) == (1, b"")
    assert code in err.decode()
    assert hint in err.decode()
