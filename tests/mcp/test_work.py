"""Where work stands over MCP: the tools of the profile, names of other services, the prompt and the resource."""

from typing import Any

import httpx2
import pytest
from mcp.types import TextContent, TextResourceContents
from tests.http.conftest import KeyOf
from tests.kit import json_schema
from tests.kit.http_service import Served
from tests.kit.mcp_results import result_of
from tests.mcp.conftest import Connect
from tests.service.tools.test_definitions import faults

from memex.mcp.work_tools import WORK_ALIASES, WORK_TOOLS
from memex.service.tools.definitions import to_strict

LABEL = "remote:github.com/acme/apollo"


def report(served: Served, key_of: KeyOf, user: str, *labels: str) -> None:
    """Report a session of a user in each place."""
    headers = {"Authorization": f"Bearer {key_of(bound_to=user, tenant='home')}"}
    for number, label in enumerate(labels):
        event = {
            "runtime": "my_agent",
            "session": f"{user}-{number}",
            "event": "1",
            "kind": "stop",
            "time": "2026-11-20T10:00:00Z",
            "project": label.rpartition("/")[2],
            "cwd": f"/code/{number}",
            "messages": [
                {
                    "id": "1",
                    "role": "user",
                    "text": f"Goal: build part {number}.",
                    "said_at": "2026-11-20T09:00:00Z",
                },
                {"id": "2", "role": "assistant", "text": f"Still to do:\n- Test part {number}"},
            ],
            "metadata": {"label": label, "root": f"/code/{number}"},
        }
        answer = httpx2.post(f"{served.url}/v1/events", json={"events": [event]}, headers=headers)
        assert answer.is_success, answer.text


def words(result: Any) -> str:
    """Return the text of a result."""
    [text] = result.content
    assert isinstance(text, TextContent)
    return text.text


async def test_each_tool_is_called_by_a_real_client(connect: Connect, served: Served, key_of: KeyOf) -> None:
    """The profile has the two tools of an agent and four of work; their results fit their schemas."""
    report(served, key_of, "alice", LABEL)
    async with connect("work", bound_to="alice") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        pack = await client.call_tool("work_context", {})
        again = await client.call_tool("work_context", {"known_hash": result_of(pack)["hash"]})
        results = {
            "work_context": pack,
            "work_open": await client.call_tool("work_open", {"project": LABEL}),
            "work_check": await client.call_tool("work_check", {"project": LABEL}),
            "work_sessions": await client.call_tool("work_sessions", {"limit": 5}),
        }
        hinted = [
            await client.call_tool("work_context", hints)
            for hints in (
                {"repository": "github.com/acme/apollo", "branch": "main"},
                {"files": ["/code/0/a.py"]},
                {"words": "apollo"},
            )
        ]
        elsewhere = await client.call_tool("work_context", {"files": ["/code/7/a.py"]})
        refused = await client.call_tool("work_context", {"paths": ["a"]})
        prompt = await client.get_prompt("work", {"label": LABEL})
        prompts = [one.name for one in (await client.list_prompts()).prompts]
        [resource] = (await client.read_resource(f"memex://work/{LABEL.replace('/', '%2F')}")).contents
        templates = [one.uri_template for one in (await client.list_resource_templates()).resource_templates]
    async with connect("agent", bound_to="alice") as client:
        plain = {tool.name: tool for tool in (await client.list_tools()).tools}

    assert list(tools) == ["memory_remember", "memory_context", *results]
    assert "build part 0." in words(pack)
    assert words(again) == "Nothing has changed since."
    for name, result in results.items():
        assert not result.is_error, words(result)
        if name != "work_context":  # a text for the model
            json_schema.validate(result.structured_content, tools[name].output_schema)
    assert results["work_open"].structured_content["open"][0]["text"] == "Test part 0"
    assert results["work_check"].structured_content["done"] is False
    assert results["work_sessions"].structured_content["sessions"][0]["label"] == LABEL
    assert [result_of(one)["label"] for one in hinted] == [LABEL] * 3
    assert result_of(elsewhere)["status"] == "no_match"
    assert refused.is_error
    [message] = prompt.messages
    assert isinstance(message.content, TextContent)
    assert "build part 0." in message.content.text
    assert prompts == ["memory", "work"]
    assert isinstance(resource, TextResourceContents)
    assert "build part 0." in resource.text
    assert "memex://work/{project}" in templates
    assert list(plain) == ["memory_remember", "memory_context"]
    assert all(plain[name].input_schema == tools[name].input_schema for name in plain)


async def test_names_of_other_services_are_understood_and_not_listed(
    connect: Connect, served: Served, key_of: KeyOf
) -> None:
    """An agent that was made for one of them goes on working; other profiles do not know the names."""
    report(served, key_of, "alice", LABEL)
    calls: dict[str, dict[str, Any]] = {
        "mem_bootstrap_context": {"projectId": None},
        "mem_context_pack": {"scope": LABEL},
        "mem_session_list": {"limit": 3},
        "mem_scope_resolve": {"repo": "github.com/acme/apollo"},
        "mem_open_work": {"scope": LABEL},
        "mem_completion_check": {"scope": LABEL},
        "mem_note_create": {"content": "I prefer oolong tea."},
        "mem_health_runtime": {},
        "mem_health_memory": {},
    }
    async with connect("work", bound_to="alice") as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        found = {name: await client.call_tool(name, given) for name, given in calls.items()}
        pack_hash = found["mem_context_pack"].structured_content["pack_hash"]
        known = await client.call_tool("mem_context_pack", {"scope": LABEL, "known_pack_hash": pack_hash})
        source = found["mem_context_pack"].structured_content["lines"][0]["source"]
        found["mem_provenance"] = await client.call_tool("mem_provenance", {"source": source})

    assert set(found) < set(WORK_ALIASES)
    assert not set(found) & set(listed)
    assert [name for name, result in found.items() if result.is_error] == []
    assert known.structured_content["not_modified"]
    assert found["mem_scope_resolve"].structured_content["status"] == "resolved"
    runtime = found["mem_health_runtime"].structured_content
    health = found["mem_health_memory"].structured_content
    assert (runtime["status"], runtime["user"]) == ("ok", "alice")
    assert (health["mount"], health["counts"]) == ("user", {})
    assert "build part 0." in words(found["mem_provenance"])
    async with connect("files", bound_to="alice") as client:
        with pytest.raises(Exception, match="There is no tool"):
            await client.call_tool("mem_open_work", {})


async def test_a_client_runs_a_day_by_the_names_that_it_knows(
    connect: Connect, served: Served, key_of: KeyOf
) -> None:
    """Bootstrap, resolve, pack, open work, health, repair, policies and inheritance, with `project_key` alone."""
    report(served, key_of, "alice", LABEL, "remote:github.com/acme/gemini")
    key, session = {"project_key": "apollo"}, {"session_id": "alice-0"}
    async with connect("work", bound_to="alice") as client:

        async def ask(name: str, **given: Any) -> dict[str, Any]:
            result = await client.call_tool(name, given)
            assert not result.is_error, (name, words(result))
            found: dict[str, Any] = result_of(result)
            return found

        begun = await ask("mem_bootstrap_context", **key, session_id="a-session-that-begins")
        pack = await ask("mem_context_pack", **key, **session, known_pack_hash=begun["pack_hash"])
        hints = ("/code/0/src", "git@github.com:acme/apollo.git", "what about part 0?")
        resolved = [await ask("mem_scope_resolve", **key, hint=hint) for hint in hints]
        by_words = await ask("mem_scope_resolve", hint="gemini")
        unsure = await ask("mem_scope_resolve", hint="Where do we build a part?")
        listed = await ask("mem_session_list", **key, **session)
        work = await ask("mem_open_work", **key)
        narrowed = await ask("mem_open_work", **key, **session)
        checked = await ask("mem_completion_check", **key, **session)
        noted = await ask("mem_note_create", content="I prefer oolong tea.", **session)
        source = await ask("mem_provenance", **key, id=work["open"][0]["id"])
        runtime = await ask("mem_health_runtime", **key, **session)
        ruled = await ask("mem_policy_set", policy="Leave out: part 0")
        health = await ask("mem_health_project", **key)
        proposed = await ask("mem_repair_propose", **key)
        changed = await ask("mem_snapshot_changes", **key, snapshot=work["state"])
        refused = await client.call_tool("mem_repair_apply", key | {"ids": [work["open"][0]["id"]]})
        marked = await ask("mem_item_mark", item_id=work["open"][0]["id"], action="done", **key)
    headers = {"Authorization": f"Bearer {key_of(bound_to='alice', tenant='home')}"}
    log = httpx2.get(f"{served.url}/v1/operations", params={"limit": 50}, headers=headers).json()[
        "operations"
    ]

    assert begun["label"] == pack["label"] == LABEL or begun["scope"] == f"label:{LABEL}"
    assert "build part 0." in pack["text"]
    assert [(one["status"], one["lane"]["label"]) for one in resolved] == [("resolved", LABEL)] * 3
    assert by_words["lane"]["name"] == "gemini"
    assert (unsure["status"], len(unsure["candidates"])) == ("ambiguous", 2)
    assert [one["label"] for one in listed["sessions"]] == [LABEL]
    assert (
        [one["text"] for one in work["open"]] == [one["text"] for one in narrowed["open"]] == ["Test part 0"]
    )
    assert not checked["done"]
    assert noted["writes"]
    assert source["mentions"][0]["text"] == "Test part 0"
    assert runtime["status"] == "ok"
    assert ruled["policies"] == health["policies"] == ["Leave out: part 0"]
    assert (proposed["repairs"], changed["is_changed"]) == ([], False)
    assert refused.is_error
    assert marked["action"] == "done"
    actors = {one["principal"]["actor"] for one in log}
    assert any(str(actor).endswith(":mem_open_work") for actor in actors)


async def test_the_shown_name_of_a_label_stands_for_its_project(
    connect: Connect, served: Served, key_of: KeyOf
) -> None:
    """In each tool that takes a slug; what belongs to no project is the user's own, and inheritance needs one."""
    report(served, key_of, "carol", LABEL)
    given = {"project_key": "apollo", "session_id": "carol-0"}
    calls: dict[str, dict[str, Any]] = {
        "mem_note_create": {"content": "I prefer oolong tea."},
        "mem_policy_set": {"policy": "Leave out: part 9"},
        "mem_health_memory": {},
        "mem_inheritance_list": {},
        "mem_inheritance_set": {"parent": "lunar"},
    }

    async def run(name: str) -> tuple[bool, Any]:
        result = await client.call_tool(name, calls[name] | given)
        return result.is_error, words(result) if result.is_error else result_of(result)

    async with connect("work", bound_to="carol") as client:
        alone = {name: await run(name) for name in calls}
        headers = {"Authorization": f"Bearer {key_of('admin', tenant='home')}"}
        for slug in ("lunar", "program"):
            for path in ("", "/members/carol"):
                answer = httpx2.put(f"{served.url}/v1/admin/projects/{slug}{path}", headers=headers)
                assert answer.is_success, answer.text
        own = {"Authorization": f"Bearer {key_of(bound_to='carol', tenant='home')}"}
        link = {"label": LABEL, "project": "program"}
        assert httpx2.post(f"{served.url}/v1/work/labels", json=link, headers=own).is_success
        linked = {name: await run(name) for name in calls}
        unknown = await client.call_tool(
            "mem_note_create", calls["mem_note_create"] | {"project_key": "nobody"}
        )

    assert {name for name, (failed, _) in alone.items() if failed} == {
        "mem_inheritance_list",
        "mem_inheritance_set",
    }
    assert alone["mem_policy_set"][1]["policy_file"] == "user/work-policies.md"
    assert alone["mem_health_memory"][1]["mount"] == "user"
    assert {name for name, (failed, _) in linked.items() if failed} == set(), linked
    assert linked["mem_policy_set"][1]["policy_file"] == "projects/program/work-policies.md"
    assert linked["mem_health_memory"][1]["mount"] == "projects/program"
    assert linked["mem_inheritance_set"][1]["project"] == "program"
    assert unknown.is_error


async def test_several_lanes_are_named_and_none_is_chosen(
    connect: Connect, served: Served, key_of: KeyOf
) -> None:
    """Two sessions in two places and no hint: lanes and what to do next; another user sees nothing of them."""
    report(served, key_of, "alice", LABEL, "remote:github.com/acme/gemini")
    async with connect("work", bound_to="alice") as client:
        unsure = await client.call_tool("work_context", {})
        one = await client.call_tool("work_context", {"cwd": "/code/1/src"})
    async with connect("work", bound_to="bob") as client:
        nothing = await client.call_tool("work_context", {})
        missing = await client.call_tool("work_open", {"project": LABEL})

    assert "give a hint" in words(unsure)
    assert words(unsure).count("lane {") == 2
    assert "build part" not in words(unsure)
    assert "build part 1." in words(one)
    assert "build part 0." not in words(one)
    assert "apollo" not in words(nothing)
    assert missing.is_error


def test_the_schemas_keep_to_strict_mode() -> None:
    """As those of all other tools: every property required, no others, and only words that strict mode knows."""
    for tool in WORK_TOOLS:
        schema = tool.input_schema()
        json_schema.check(schema)
        assert list(faults(to_strict(schema))) == []
        assert all("description" in part for part in schema["properties"].values())


async def test_a_call_that_names_no_place_is_told_of_its_arguments(connect: Connect) -> None:
    """A model has arguments, and no options of the command line."""
    async with connect("work", bound_to="alice") as client:
        for tool in ("work_open", "work_check"):
            answer = await client.call_tool(tool, {})
            assert "`project`" in words(answer), tool
            assert "--" not in words(answer), tool
