"""Project memory by the names of other servers: six tools, called by real clients of MCP."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from mcp.types import TextContent
from tests.http.conftest import KeyOf
from tests.kit import json_schema
from tests.kit.http_service import Served
from tests.mcp.conftest import Connect
from tests.service.tools.test_definitions import faults

from memex.mcp.project_tools import PROJECT_TOOLS, fuse
from memex.service.tools.definitions import to_strict

DECIDED = "We decided to use Postgres for the job queue."
NAMES = ["store_memory", "search_memories", "delete_memory", "list_topics", "init_project", "index_files"]


@pytest.fixture
def makes_projects(served: Served) -> Iterator[None]:
    """Agents of the shared service may make projects."""
    assert served.service is not None
    served.service.identities.agents_make_projects = True
    yield
    served.service.identities.agents_make_projects = False


def words(result: Any) -> str:
    """Return the text of a result."""
    [text] = result.content
    assert isinstance(text, TextContent)
    return text.text


def push(served: Served, key: str, project: str, files: dict[str, str]) -> None:
    """Push documents into a project, as a client does."""
    lines = "".join(
        json.dumps({"path": path, "sha256": hashlib.sha256(text.encode()).hexdigest(), "text": text}) + "\n"
        for path, text in sorted(files.items())
    )
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/x-ndjson"}
    url = f"{served.url}/v1/documents"
    answer = httpx2.put(url, params={"root": "repo", "project": project}, content=lines, headers=headers)
    assert answer.is_success, answer.text


@pytest.mark.usefixtures("makes_projects")
async def test_each_tool_is_called_by_a_real_client(connect: Connect, served: Served, key_of: KeyOf) -> None:
    """A project is made, and what is stored there is found beside its documents, listed by topics, and deleted."""
    key = key_of(bound_to="alice")
    async with connect("project", key=key) as client:
        instructions = client.instructions or ""
        [prompt] = (await client.get_prompt("memory")).messages
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        made = await client.call_tool("init_project", {"project": "shop", "watch_paths": ["/code/shop"]})
        again = await client.call_tool("init_project", {"project": "shop"})
        push(
            served,
            key,
            "shop",
            {"docs/queue.md": "---\ntags: [ADR]\n---\n# Queue\n\nThe job queue runs in Postgres.\n"},
        )
        given = {"content": DECIDED, "tags": ["adr", "queue"], "project": "shop", "source": "docs/adr/7.md"}
        stored = await client.call_tool("store_memory", given)
        known = await client.call_tool(
            "store_memory", {"content": "We decided to use Postgres for the job-queue", "project": "shop"}
        )
        found = await client.call_tool("search_memories", {"query": "job queue Postgres", "project": "shop"})
        tagged = await client.call_tool(
            "search_memories", {"query": "queue", "project": "shop", "tags": ["Queue"], "limit": 1}
        )
        topics = await client.call_tool("list_topics", {"project": "shop"})
        indexed = await client.call_tool("index_files", {"project": "shop"})
        watched = httpx2.post(
            f"{served.url}/v1/documents/watch",
            headers={"Authorization": f"Bearer {key}"},
            json={"root": "repo", "project": "shop"},
        )
        assert watched.is_success, watched.text
        asked = await client.call_tool("index_files", {"project": "shop"})
        gone = await client.call_tool("delete_memory", {"id": stored.structured_content["id"]})
        after = await client.call_tool("search_memories", {"query": "job queue Postgres", "project": "shop"})
        twice = await client.call_tool("delete_memory", {"id": stored.structured_content["id"]})
    results = dict(zip(NAMES, (stored, found, gone, topics, made, indexed), strict=True))
    restored = httpx2.post(
        f"{served.url}/v1/operations/{gone.structured_content['tool_call_id']}/revert",
        headers={"Authorization": f"Bearer {key}"},
        json={},
    )

    assert list(tools) == NAMES
    assert "search_memories" in instructions
    assert isinstance(prompt.content, TextContent)
    for text in (instructions, prompt.content.text):
        assert "store_memory" in text
        assert "memory_remember" not in text
        assert "memory_context" not in text
    for name, result in results.items():
        assert not result.is_error, words(result)
        json_schema.validate(result.structured_content, tools[name].output_schema)
    assert made.structured_content["next"] == ["memex docs push /code/shop --project shop"]
    assert (made.structured_content["created"], again.structured_content["created"]) == (True, False)
    path = stored.structured_content["id"]
    assert path.startswith("projects/shop/notes/we-decided-to-use-postgres-for-the-job-queue-")
    assert (stored.structured_content["status"], known.structured_content["status"]) == ("stored", "known")
    assert known.structured_content["id"] == path
    first, second = found.structured_content["hits"]
    assert (first["id"], first["text"], first["tags"]) == (path, DECIDED, ["adr", "queue"])
    assert (first["kind"], first["source"]) == ("memory", "docs/adr/7.md")
    assert (second["kind"], second["source"]) == ("document", "docs/queue.md > Queue")
    assert first["score"] == second["score"] == round(1 / 61, 6)
    assert 0 < first["confidence"] <= 1
    assert second["confidence"] is None
    assert [hit["id"] for hit in tagged.structured_content["hits"]] == [path]
    counted = topics.structured_content["topics"]
    assert [(one["tag"], one["files"], one["documents"]) for one in counted] == [
        ("adr", 1, 1),
        ("queue", 1, 0),
    ]
    assert [one["root"] for one in indexed.structured_content["roots"]] == ["repo"]
    assert indexed.structured_content["next"] == ["memex docs push FOLDER --name repo --project shop"]
    assert indexed.structured_content["asked"] == []
    assert (asked.structured_content["asked"], asked.structured_content["next"]) == (["repo"], [])
    assert [hit["kind"] for hit in after.structured_content["hits"]] == ["document"]
    assert "search_memories" in words(twice)
    assert "memory_list" not in words(twice)
    assert twice.is_error
    assert restored.is_success, restored.text


@pytest.mark.usefixtures("makes_projects")
async def test_what_contradicts_is_named_and_stays(connect: Connect, served: Served, key_of: KeyOf) -> None:
    """A note against a note: `rivals`, and nothing is replaced. Each call is replayed to the same bytes."""
    key = key_of(bound_to="alice")
    async with connect("project", key=key, project="shop") as client:
        await client.call_tool("init_project", {})
        older = await client.call_tool("store_memory", {"content": "The release is on 3 March."})
        newer = await client.call_tool("store_memory", {"content": "The release is on 10 March."})
        both = await client.call_tool("search_memories", {"query": "release March"})
        [rival] = newer.structured_content["rivals"]
        taken = await client.call_tool("delete_memory", {"id": rival["id"]})
        left = await client.call_tool("search_memories", {"query": "release March"})

    assert older.structured_content["rivals"] == []
    assert rival == {"id": older.structured_content["id"], "text": "The release is on 3 March."}
    assert len(both.structured_content["hits"]) == 2
    assert not taken.is_error
    for call in (older, newer):
        url = f"{served.url}/v1/operations/{call.structured_content['tool_call_id']}/replay"
        replayed = httpx2.post(url, headers={"Authorization": f"Bearer {key}"}, json={})
        assert replayed.json()["is_equal"], replayed.text
    assert [hit["id"] for hit in left.structured_content["hits"]] == [newer.structured_content["id"]]


@pytest.mark.usefixtures("makes_projects")
async def test_statements_of_memory_count_too(connect: Connect, served: Served, key_of: KeyOf) -> None:
    """What memory_remember filed is known, is a rival by its handle, and is taken out by it alone."""
    key = key_of(bound_to="alice")
    headers = {"Authorization": f"Bearer {key}"}
    async with connect("project", key=key, project="shop") as client:
        await client.call_tool("init_project", {})
        text = "Decision: the shop runs on Postgres 15. We decided to deploy on Mondays."
        said = {"arguments": {"text": text, "project": "shop"}}
        url = f"{served.url}/v1/tools/memory_remember/execute"
        assert httpx2.post(url, headers=headers, json=said).is_success
        known = await client.call_tool("store_memory", {"content": "The shop runs on Postgres 15."})
        newer = await client.call_tool("store_memory", {"content": "The shop runs on Postgres 17."})
        whole = await client.call_tool("delete_memory", {"id": "projects/shop/decisions.md"})
        [rival] = newer.structured_content["rivals"]
        taken = await client.call_tool("delete_memory", {"id": rival["id"]})
        again = await client.call_tool("delete_memory", {"id": rival["id"]})
        left = await client.call_tool("search_memories", {"query": "Postgres deploy Mondays"})

    assert known.structured_content["status"] == "known"
    assert known.structured_content["id"] == rival["id"]
    assert rival["id"].startswith("projects/shop/decisions.md#decisions-")
    assert whole.is_error
    assert not taken.is_error, words(taken)
    assert again.is_error
    text = "".join(
        hit["text"] for hit in left.structured_content["hits"] if hit["id"].startswith("projects/shop/")
    )
    assert "deploy on Mondays" in text
    assert "Postgres 15" not in text


async def test_agents_make_no_projects_unless_they_may(connect: Connect) -> None:
    """The answer names the command of an administrator; a name that is taken is never joined."""
    async with connect("project", bound_to="alice") as client:
        refused = await client.call_tool("init_project", {"project": "shop"})
        nowhere = await client.call_tool("store_memory", {"content": "A fact.", "project": "shop"})
        nameless = await client.call_tool("list_topics", {})

    assert "memex projects create shop" in words(refused)
    assert "FORBIDDEN" in words(refused)
    assert "PROJECT_NOT_FOUND" in words(nowhere)
    assert "MEMEX_PROJECT" in words(nameless)


@pytest.mark.usefixtures("makes_projects")
async def test_a_project_of_others_is_neither_joined_nor_read(connect: Connect) -> None:
    """Bob cannot take alice's project by its name, nor delete or find what she stored."""
    async with connect("project", bound_to="alice", project="shop") as client:
        await client.call_tool("init_project", {})
        stored = (await client.call_tool("store_memory", {"content": DECIDED})).structured_content
    async with connect("project", bound_to="bob") as client:
        refused = [
            await client.call_tool("init_project", {"project": "shop"}),
            await client.call_tool("delete_memory", {"id": stored["id"]}),
            await client.call_tool("search_memories", {"query": "queue", "project": "shop"}),
            await client.call_tool("index_files", {"project": "shop"}),
        ]
        wrong = ("user/profile.md", "projects/shop/decisions.md", "documents/user/r/a.md", "../x", "x#y")
        refused += [await client.call_tool("delete_memory", {"id": one}) for one in wrong]

    assert all(result.is_error for result in refused)
    assert not any(DECIDED in words(result) for result in refused)


def test_the_schemas_keep_to_strict_mode() -> None:
    """As those of all other tools: every property required, no others, and only words that strict mode knows."""
    for tool in PROJECT_TOOLS:
        schema = tool.input_schema()
        json_schema.check(schema)
        assert list(faults(to_strict(schema))) == []
        assert all("description" in part for part in schema["properties"].values())


def test_two_rankings_are_interleaved_by_rank() -> None:
    """The scores of memory and of documents do not compare; what both find comes first."""
    assert [name for name, _ in fuse(["a", "b", "c"], ["x", "b"])] == ["b", "a", "x", "c"]
