"""The tools as an MCP client finds and calls them over HTTP."""

import json
import uuid
from typing import Any

import pytest
from mcp.types import CallToolResult, TextContent
from tests.http.conftest import KeyOf
from tests.kit.http_service import Served
from tests.kit.mcp_results import result_of
from tests.mcp.conftest import Connect

from mcp import MCPError
from memex.mcp.tools import strip_descriptions
from memex.service.service import BY_NAME, TOOLS
from memex.service.tools.definitions import define
from memex.service.tools.registry import REMOVED_TOOLS

ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])
AGENT_TOOLS_CHARS = 1_500  # of the list of an agent's two tools as it is sent
TEXT_TOOLS = ("memory_remember", "memory_context", "memory_find")  # whose results models read as texts


def text_of(result: CallToolResult) -> str:
    """Return the one text of a result."""
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


def code_of(result: CallToolResult) -> str:
    """Return the code of a result that is an error: the same for the model and for the host."""
    assert result.is_error
    assert result.structured_content is None
    assert result.meta is not None
    code = json.loads(text_of(result))["error"]["code"]
    assert result.meta["memex/error"]["code"] == code
    return str(code)


@ERAS
async def test_an_agent_remembers_and_recalls(connect: Connect, mode: str) -> None:
    """Two tools; the result is a text for the model, and whole for a program; the server says how to use them."""
    async with connect(bound_to="alice", mode=mode) as client:
        told, instructions = (await client.list_tools()).tools, client.instructions
        remembered = await client.call_tool("memory_remember", {"text": "I prefer oolong tea."})
        recalled = await client.call_tool("memory_context", {"query": "Which tea?", "budget": 2_000})

    assert [tool.name for tool in told] == ["memory_remember", "memory_context"]
    assert instructions is not None
    assert instructions.startswith("You have a long-term memory.")
    assert text_of(remembered) == "Remembered.\nuser/preferences.md@1: 1 added"
    assert remembered.structured_content is recalled.structured_content is None
    assert result_of(remembered)["status"] == "committed"
    assert result_of(recalled)["context"] == text_of(recalled)
    assert "\n- I prefer oolong tea. (" in text_of(recalled)
    [source] = result_of(recalled)["sources"]
    assert (source["path"], source["version"]) == ("user/preferences.md", 1)


async def test_a_list_says_what_tools_do_and_stays_small(connect: Connect) -> None:
    """Each tool has a title, all hints and the schemas of its JSON; the order is that of the profile."""
    async with connect("files", bound_to="alice") as files, connect(bound_to="alice") as agent:
        listed = (await files.list_tools()).tools
        two = (await agent.list_tools()).model_dump(mode="json", by_alias=True, exclude_none=True)["tools"]

    hints = {
        tool.name: (
            tool.annotations.read_only_hint,
            tool.annotations.destructive_hint,
            tool.annotations.idempotent_hint,
        )
        for tool in listed
        if tool.annotations is not None
    }
    reads = [definition.name for definition in define("files") if definition.is_read_only]
    assert [definition.name for definition in define("files")] == list(TOOLS)
    assert [tool.name for tool in listed] == [*TOOLS, *REMOVED_TOOLS]
    assert hints == {
        **dict.fromkeys(TOOLS, (False, True, False)),
        **dict.fromkeys([*reads, "memory_removed"], (True, False, True)),
        "memory_put_back": (False, False, False),
        "memory_remember": (False, False, True),
    }
    for tool in listed:
        assert tool.title
        assert tool.annotations is not None
        assert (tool.annotations.title, tool.annotations.open_world_hint) == (tool.title, False)
        assert tool.input_schema["additionalProperties"] is False
        assert (tool.output_schema is None) == (tool.name in TEXT_TOOLS)
        shape = tool.output_schema or BY_NAME[tool.name].result.model_json_schema()
        assert shape["properties"].keys() == BY_NAME[tool.name].result.model_fields.keys()
    assert len(json.dumps(two)) <= AGENT_TOOLS_CHARS


def test_a_shape_has_no_texts_for_people_and_all_properties() -> None:
    """Also a property that is called title stays."""
    schema = {
        "title": "Hit",
        "description": "A hit.",
        "properties": {"title": {"title": "Title", "type": "string"}},
    }

    assert strip_descriptions(schema) == {"properties": {"title": {"type": "string"}}}


async def test_every_tool_on_files_answers_as_its_schema_says(connect: Connect) -> None:
    """The client holds each result against the output schema, and refuses what does not fit."""
    calls: list[tuple[str, dict[str, Any]]] = [
        ("memory_remember", {"text": "Apollo ships in May."}),
        ("memory_write", {"path": "user/tea.md", "content": "# Tea\n\nSee [[milk]]. Oolong.\n"}),
        ("memory_patch", {"path": "user/tea.md", "operation": "append", "text": "Not after noon."}),
        ("memory_find", {"query": "oolong"}),
        ("memory_read", {"path": "user/tea.md"}),
        ("memory_list", {"prefix": "user/", "cursor": None}),
        ("memory_links", {"path": "user/tea.md"}),
        ("memory_history", {"path": "user/tea.md"}),
        ("memory_diff", {"path": "user/tea.md"}),
        ("memory_restore", {"path": "user/tea.md", "version": 1}),
        ("memory_move", {"path": "user/tea.md", "to": "user/drinks.md"}),
        ("memory_delete", {"path": "user/drinks.md"}),
        (
            "memory_write_many",
            {"edits": [{"kind": "write", "path": "user/a.md", "content": "a", "to": None}]},
        ),
        ("memory_context", {"query": "Apollo"}),
    ]
    async with connect("files", bound_to="alice") as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        answered = {tool: await client.call_tool(tool, arguments) for tool, arguments in calls}
        await client.call_tool("memory_remember", {"text": "I live in Lisbon."})
        await client.call_tool("memory_remember", {"text": "I live in Porto now."})
        answered["memory_removed"] = await client.call_tool("memory_removed", {})
        [line] = answered["memory_removed"].structured_content["lines"]
        answered["memory_put_back"] = await client.call_tool("memory_put_back", {"id": line["id"]})

    results = {tool: result_of(answer) for tool, answer in answered.items()}
    texts = {tool: text_of(answer) for tool, answer in answered.items()}
    said = {tool: texts.pop(tool) for tool in TEXT_TOOLS}
    assert {tool: json.loads(text) for tool, text in texts.items()} == {tool: results[tool] for tool in texts}
    assert "Apollo ships in May." in said["memory_context"]
    assert results.keys() == listed
    assert results["memory_find"]["hits"][0]["path"] == "user/tea.md"
    assert len(results["memory_history"]["revisions"]) == 2


@ERAS
async def test_an_error_is_a_result_with_its_code(connect: Connect, mode: str) -> None:
    """The model reads the code and what to do next; the details are for the host."""
    path = "user/tea.md"
    async with connect("files", bound_to="alice", mode=mode) as client:
        await client.call_tool("memory_write", {"path": path, "content": "# Tea\n"})
        stale = await client.call_tool("memory_write", {"path": path, "content": "# T\n", "base_version": 7})
        shared = await client.call_tool("memory_write", {"path": "shared/a.md", "content": "# A\n"})
        missing = await client.call_tool("memory_read", {"path": "user/none.md"})
        malformed = await client.call_tool("memory_read", {"path": "user/../secret.md"})
        untold = await client.call_tool("memory_context", {"query": "tea", "known_hash": "x"})

    assert code_of(stale) == "VERSION_CONFLICT"
    assert stale.meta is not None
    assert stale.meta["memex/error"]["details"]["current_version"] == 1
    assert code_of(shared) == "READ_ONLY_MOUNT"
    assert code_of(missing) == "FILE_NOT_FOUND"
    assert code_of(malformed) == "INVALID_PATH"
    assert code_of(untold) == "VALIDATION_ERROR"
    assert "The arguments are: query, budget, project." in text_of(untold)


async def test_a_tool_of_another_profile_is_unknown(connect: Connect) -> None:
    """That is a fault of the protocol, which says what tools there are."""
    async with connect(bound_to="alice") as client:
        with pytest.raises(MCPError) as refused:
            await client.call_tool("memory_write", {"path": "user/a.md", "content": "x"})

    assert refused.value.code == -32602
    assert refused.value.data["code"] == "UNKNOWN_TOOL"
    assert refused.value.data["hint"] == "The tools are: memory_remember, memory_context."
    assert (
        str(refused.value) == f"UNKNOWN_TOOL: There is no tool 'memory_write'. {refused.value.data['hint']}"
    )


async def test_other_services_names_are_understood_and_not_listed(connect: Connect) -> None:
    """As everywhere else: what they mean is ours, and so is the answer."""
    async with connect("files", bound_to="alice") as client:
        remembered = await client.call_tool("memory_memorize", {"content": "I prefer oolong tea."})
        found = await client.call_tool("memory_search", {"q": "oolong", "topK": 3})
        listed = {tool.name for tool in (await client.list_tools()).tools}

    assert result_of(remembered)["status"] == "committed"
    assert "user/preferences.md" in [hit["path"] for hit in result_of(found)["hits"]]
    assert not listed & {"memory_memorize", "memory_search"}


@pytest.mark.parametrize("name", ["memex/toolCallId", "claudecode/toolUseId"])
async def test_a_call_is_logged_under_the_clients_id_and_a_write_done_once(
    connect: Connect, name: str
) -> None:
    """The same call again gets the first answer; anything else under its id is a conflict."""
    meta: Any = {name: f"toolu_{uuid.uuid4().hex}"}
    key_and_user = {"bound_to": "alice"}
    async with connect("files", **key_and_user) as client, connect("admin", user="alice") as admin:
        tea = {"path": "user/tea.md", "content": "# Tea\n"}
        first = await client.call_tool("memory_write", tea, meta=meta)
        again = await client.call_tool("memory_write", tea, meta=meta)
        other = await client.call_tool("memory_write", {**tea, "path": "user/milk.md"}, meta=meta)
        logged = await admin.call_tool("memory_operation", {"tool_call_id": meta[name]})

    attempts = logged.structured_content["attempts"]
    assert first.structured_content == again.structured_content
    assert first.structured_content["tool_call_id"] == meta[name]
    assert code_of(other) == "TOOL_CALL_CONFLICT"
    assert [attempt["status"] for attempt in attempts] == ["failed", "repeated", "committed"]
    assert attempts[0]["principal"]["actor"] == "mcp"  # as the client calls itself


async def test_an_id_that_is_null_is_absent(connect: Connect) -> None:
    """So that the other name of it counts."""
    meta: Any = {"memex/toolCallId": None, "claudecode/toolUseId": "toolu_1"}
    async with connect(bound_to="alice") as client:
        answered = await client.call_tool("memory_context", {"query": "tea"}, meta=meta)

    assert answered.meta is not None
    assert answered.meta["memex/toolCallId"] == result_of(answered)["tool_call_id"] == "toolu_1"


async def test_calls_without_an_id_never_share_one(connect: Connect) -> None:
    """Each client counts its requests from one: two of them with one number are two calls."""
    ids = []
    for path in ("user/a.md", "user/b.md"):
        async with connect("files", bound_to="alice") as client:
            written = await client.call_tool("memory_write", {"path": path, "content": "x"})
            failed = await client.call_tool("memory_write", {"path": path, "content": "y"})
            assert failed.meta is not None
            ids += [written.structured_content["tool_call_id"], failed.meta["memex/toolCallId"]]

    assert len(set(ids)) == 4
    assert all(one.startswith("call_") for one in ids)


async def test_a_malformed_id_is_refused(connect: Connect) -> None:
    """A write under it could not be found again."""
    given: tuple[Any, ...] = ("two words", "", 7)
    async with connect(bound_to="alice") as client:
        refused = [
            await client.call_tool("memory_context", {"query": "x"}, meta={"memex/toolCallId": one})  # type: ignore[typeddict-unknown-key]
            for one in given
        ]

    assert [code_of(result) for result in refused] == ["VALIDATION_ERROR"] * 3


async def test_a_model_can_never_name_another_user(connect: Connect, key_of: KeyOf) -> None:
    """Whatever arguments or paths it gives, it reads and writes for the user of the connection alone."""
    async with connect("files", bound_to="bob") as bob:
        await bob.call_tool("memory_write", {"path": "user/secret.md", "content": "# quetzalcoatl\n"})
    named = ("user", "user_id", "userId", "tenant", "context", "Memex-User", "actor")
    paths = ("users/bob/secret.md", "tenants/home/bob/secret.md", "user/../bob/secret.md", "bob/secret.md")
    codes = []
    async with connect("files", bound_to="alice") as alice:
        for name in named:
            result = await alice.call_tool("memory_find", {"query": "quetzalcoatl", name: "bob"})
            codes.append(code_of(result))
        for path in paths:
            result = await alice.call_tool("memory_read", {"path": path})
            codes.append(code_of(result))
        outside = await alice.call_tool("memory_context", {"query": "x", "project": "bobs"})
        meta: Any = {"memex/user": "bob", "userId": "bob", "Memex-User": "bob"}
        results = [
            await alice.call_tool(tool, {} if tool == "memory_list" else {"query": "quetzalcoatl"}, meta=meta)
            for tool in ("memory_find", "memory_context", "memory_list")
        ]

    assert codes[: len(named)] == ["VALIDATION_ERROR"] * len(named)
    assert codes[len(named) :] == ["PHYSICAL_PATH_FORBIDDEN"] * 2 + ["INVALID_PATH", "UNKNOWN_MOUNT"]
    assert code_of(outside) == "PROJECT_NOT_FOUND"
    assert not [result for result in results if result.is_error]
    assert "quetzalcoatl" not in "".join(map(text_of, results))
    assert "secret" not in "".join(map(text_of, results))


async def test_the_user_is_the_keys_or_the_headers(connect: Connect) -> None:
    """A trusted backend names one in a header; another's than the key's, and nobody, is FORBIDDEN."""
    call = ("memory_remember", {"text": "I prefer oolong tea."})
    async with connect(user="zoë") as zoe:
        hers = await zoe.call_tool(*call)
    async with connect() as nobody:
        nobodys = await nobody.call_tool(*call)
        with pytest.raises(MCPError) as unread:
            await nobody.list_resources()
    async with connect(bound_to="alice", user="bob") as another:
        anothers = await another.call_tool(*call)

    assert result_of(hers)["status"] == "committed"
    assert code_of(nobodys) == "FORBIDDEN"
    assert "Memex-User" in text_of(nobodys)
    assert unread.value.data["code"] == "FORBIDDEN"
    assert code_of(anothers) == "FORBIDDEN"


async def test_an_admin_without_a_user_hears_what_is_wrong(connect: Connect) -> None:
    """It needs none, so that is not what a malformed name of a project is refused for."""
    async with connect("admin", project="x" * 201) as admin:
        refused = await admin.call_tool("memory_list", {})

    assert code_of(refused) == "VALIDATION_ERROR"
    assert "slug" in text_of(refused)


async def test_an_admin_sees_and_undoes_calls(connect: Connect) -> None:
    """Beside the tools on files, which write shared/ and any project for it."""
    async with connect("files", bound_to="alice") as alice, connect("admin", user="alice") as admin:
        listed = [tool.name for tool in (await admin.list_tools()).tools]
        guide = await admin.call_tool("memory_write", {"path": "shared/guide.md", "content": "# Guide\n"})
        written = await alice.call_tool("memory_write", {"path": "user/tea.md", "content": "# Tea\n"})
        tool_call_id = written.structured_content["tool_call_id"]
        calls = await admin.call_tool("memory_operations", {"limit": 2})
        undone = await admin.call_tool("memory_revert", {"tool_call_id": tool_call_id, "reason": "a test"})
        gone = await alice.call_tool("memory_read", {"path": "user/tea.md"})
        unknown = await admin.call_tool("memory_operation", {"tool_call_id": "none"})
        malformed = await admin.call_tool("memory_operations", {"limit": 0})

    assert listed == [*TOOLS, *REMOVED_TOOLS, "memory_operations", "memory_operation", "memory_revert"]
    assert guide.structured_content["created"]
    assert calls.structured_content["operations"][0]["tool_call_id"] == tool_call_id
    assert undone.structured_content["reverted"] == tool_call_id
    assert code_of(gone) == "FILE_NOT_FOUND"
    assert code_of(unknown) == "OPERATION_NOT_FOUND"
    assert code_of(malformed) == "VALIDATION_ERROR"


async def test_a_bug_is_answered_without_what_it_quotes(
    connect: Connect, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In both eras: the client learns that Memex failed, and nothing of the memory that broke it."""

    async def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("quotes quetzalcoatl")

    monkeypatch.setattr(served.service, "execute", broken)

    for mode in ("auto", "legacy"):
        async with connect(bound_to="alice", mode=mode) as client:
            with pytest.raises(MCPError) as failed:
                await client.call_tool("memory_context", {"query": "tea"})
            assert failed.value.code == -32603
            assert failed.value.data["code"] == "INTERNAL"
            assert "quetzalcoatl" not in f"{failed.value} {failed.value.data}"
