"""The six tools of project memory, called by real coding agents from the files that `memex setup` writes."""

import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from tests.clients.conftest import Workplace, program
from tests.kit.model_server import Request, Step, calls, says

NOTE = "We chose Postgres for the job queue."
WAITING = "WaitForMcpServers"  # of Claude Code, while a server is still starting
ASKED = "Look after the memory of this project."
PLAN: tuple[tuple[str, dict[str, Any]], ...] = (
    ("init_project", {"project": "shop"}),
    ("store_memory", {"content": NOTE, "tags": ["adr"]}),
    ("search_memories", {"query": "Which job queue?"}),
    ("list_topics", {}),
    ("index_files", {}),
    ("delete_memory", {"id": ""}),
)


@pytest.fixture(autouse=True)
def _makes_projects(workplace: Workplace) -> None:
    assert workplace.served.service is not None
    workplace.served.service.identities.agents_make_projects = True


def asks_in_turn(workplace: Workplace) -> Callable[[Request], Step]:
    """Return a model that calls the six tools one after another, whatever the agent calls them."""
    left = list(PLAN)

    def act(request: Request) -> Step:
        offered = _offered(request)
        name = next((one for one in offered if left and one.endswith(left[0][0])), None)
        if name is None:
            return calls((WAITING, {})) if left and WAITING in offered else says("Done.")
        tool, arguments = left.pop(0)
        if tool == "delete_memory":
            arguments = {"id": notes(workplace)[0]}
        return calls((name, arguments))

    return act


def _offered(request: Request) -> list[str]:
    """Return the names of the tools of a request; Codex puts those of a server into a namespace."""
    found = []
    for one in request.body.get("tools") or []:
        named = one.get("function", one)
        inner = named.get("tools") if named.get("type") == "namespace" else None
        found += [f"{named['name']}.{each['name']}" for each in inner] if inner else [str(named.get("name"))]
    return found


def notes(workplace: Workplace) -> list[str]:
    """Return the paths of the notes of the project."""
    headers = {"Authorization": f"Bearer {workplace.key}"}
    answer = httpx2.get(
        f"{workplace.served.url}/v1/files", params={"prefix": "projects/shop/"}, headers=headers
    )
    return [file["path"] for file in answer.json()["files"]]


def check(workplace: Workplace) -> None:
    """Check that each tool was called, that none failed, and that the model read what they answered."""
    headers = {"Authorization": f"Bearer {workplace.key}"}
    listed = httpx2.get(f"{workplace.served.url}/v1/operations", headers=headers).json()["operations"]
    done = {one["tool"]: one["status"] for one in listed if one["tool"] != "memory_list"}  # of resources
    read = json.dumps([dict(one.body) for one in workplace.model.requests])

    assert done == {
        "project_init": "answered",
        "store_memory": "committed",
        "memory_find": "answered",
        "document_find": "answered",
        "memory_read": "answered",
        "memory_topics": "answered",
        "memory_delete": "committed",
    }
    assert "projects/shop/notes/we-chose-postgres-for-the-job-queue-" in read
    assert notes(workplace) == []


def test_claude_code_calls_the_six_tools(workplace: Workplace) -> None:
    """From the file of the project that `memex setup` writes."""
    claude = program("claude")
    url = workplace.served.url
    workplace.memex(
        *("setup", "claude-code", "--profile", "project", "--project", "shop", "--url", url, "--yes")
    )
    workplace.model.play(asks_in_turn(workplace), endless=True)

    workplace.run(claude, "-p", ASKED, "--mcp-config", ".mcp.json", "--allowedTools=mcp__memex")

    check(workplace)


def test_codex_calls_the_six_tools(workplace: Workplace) -> None:
    """From its own file, which `memex setup` adds the server to."""
    codex = program("codex")
    home = workplace.folder / "codex"
    home.mkdir()
    (home / "config.toml").write_text(
        'model = "scripted"\nmodel_provider = "scripted"\n[model_providers.scripted]\nname = "scripted"\n'
        f'base_url = "{workplace.model.url}"\nwire_api = "responses"\nenv_key = "SCRIPTED_KEY"\n'
    )
    url = workplace.served.url
    workplace.memex("setup", "codex", "--profile", "project", "--project", "shop", "--url", url, "--yes")
    workplace.model.play(asks_in_turn(workplace), endless=True)

    workplace.run(codex, "exec", "--dangerously-bypass-approvals-and-sandbox", ASKED)

    check(workplace)
