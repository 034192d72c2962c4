"""The tools over HTTP, as a trusted backend calls them."""

import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from httpx2 import Client, Response

from memex.subagent import prompts

ClientOf = Callable[..., Client]


def run(client: Client, tool: str, /, *, context: dict[str, Any] | None = None, **arguments: Any) -> Response:
    """Run a tool."""
    call = {"context": context or {}, "arguments": arguments}
    return client.post(f"/v1/tools/{tool}/execute", json=call)


# Members of answers about texts that hold some, and of a dry run.
IF_FOUND = {"again", "entry", "forgotten", "secrets", "hidden_characters", "statements", "included"}


def test_the_tools_are_listed_with_schemas_that_hold_for_their_answers(alice: Client) -> None:
    """Each tool says what it takes and returns, and whether it writes."""
    listed = alice.get("/v1/tools").json()
    written = run(alice, "memory_write", path="user/a.md", content="tea").json()

    tools = {tool["name"]: tool for tool in listed["tools"]}
    assert listed["format"] == "json-schema"
    assert set(tools) == {
        *("memory_remember", "memory_context"),
        *("memory_find", "memory_read", "memory_list", "memory_links", "memory_history", "memory_diff"),
        *(
            "memory_write",
            "memory_patch",
            "memory_move",
            "memory_delete",
            "memory_write_many",
            "memory_restore",
        ),
    }
    assert [name for name, tool in tools.items() if not tool["read_only"]] == [
        *("memory_remember", "memory_write", "memory_patch", "memory_move", "memory_delete"),
        *("memory_write_many", "memory_restore"),
    ]
    assert set(tools["memory_write"]["output_schema"]["properties"]) - IF_FOUND == set(written)
    assert tools["memory_write"]["input_schema"]["required"] == ["path", "content"]
    assert all(
        tool["description"] and not tool["input_schema"]["additionalProperties"] for tool in tools.values()
    )


def test_a_program_gets_the_text_for_its_model_if_it_asks_for_plain_text(alice: Client) -> None:
    """Within the budget, also by another name of the tool; a client that takes JSON too gets the whole result."""
    run(alice, "memory_remember", text=" ".join(f"I drank tea number {n} on Monday." for n in range(60)))
    call = {"arguments": {"query": "tea", "budget": 500}}
    address = "/v1/tools/memory_context/execute"
    plain = alice.post(address, json=call, headers={"Accept": "text/plain"})
    both = alice.post(address, json=call, headers={"Accept": "application/json, text/plain, */*"})
    found = alice.post(
        "/v1/tools/memory_search/execute",
        json={"arguments": {"q": "tea"}},
        headers={"Accept": "text/plain"},
    )

    assert plain.headers["content-type"] == "text/plain; charset=utf-8"
    assert 400 < len(plain.text) <= 500
    assert plain.text.startswith(both.json()["context"])
    assert re.match(r"user/journal/.*@1:0-\d+ · \"", found.text)


def test_the_agents_two_tools_come_first_with_the_words_of_their_prompts(alice: Client) -> None:
    """What a model reads of them stands in files; their schemas hold for what they return."""
    remember, context, *_ = alice.get("/v1/tools").json()["tools"]
    remembered = run(alice, "memory_remember", text="I prefer oolong tea. Thanks!").json()
    recalled = run(alice, "memory_context", query="Which tea?").json()

    for tool, result in ((remember, remembered), (context, recalled)):
        name = tool["name"].removeprefix("memory_")
        prompt = prompts.load(name)
        told = {
            name: schema["description"]
            for name, schema in tool["input_schema"]["properties"].items()
            if name in prompt.arguments
        }
        assert tool["description"] == prompt.tool
        assert told == dict(prompt.arguments)
        assert "description" not in tool["input_schema"]
        members = set(tool["output_schema"]["properties"])
        assert members - IF_FOUND <= set(result) <= members
    assert "required" not in remember["input_schema"]  # a text, or handles
    assert set(remember["input_schema"]["properties"]) == {
        "text",
        "outdated",
        "both_hold",
        "project",
        "dry_run",
        "wait",
        "said_at",
        "valid_from",
        "valid_until",
        "statements",
        "dry_run_id",
    }
    assert context["input_schema"]["required"] == ["query"]


def test_a_host_says_how_sure_a_context_must_be(alice: Client) -> None:
    """Below that the context says so; no definition for a model has the argument, and another band is refused."""
    run(alice, "memory_write", path="user/tea.md", content="# Tea\n\nOolong from Fujian.\n")
    question = "Which oolong did the neighbours order yesterday evening?"
    found = run(alice, "memory_context", query=question).json()
    nothing = run(alice, "memory_context", query=question, min_confidence="strong").json()
    [hit] = run(alice, "memory_find", query=question).json()["hits"]
    told = alice.get("/v1/tools", params={"format": "openai"}).text

    assert found["confidence"]["band"] == "weak"
    assert "Oolong from Fujian." in found["context"]
    assert nothing["context"].split("\n")[1] == "Nothing is remembered about this."
    assert (nothing["sources"], nothing["confidence"]) == ([], found["confidence"])
    assert 0 < hit["confidence"] < 1
    assert "min_confidence" not in told
    assert run(alice, "memory_context", query=question, min_confidence="sure").status_code == 422


def test_a_text_is_remembered_and_recalled(alice: Client, bob: Client) -> None:
    """By its user, once, with what it replaced in the history."""
    call = {"context": {"toolCallId": "call-1"}, "text": "My favorite color is red.\r\nThanks!"}
    first = run(alice, "memory_remember", **call)
    again = run(alice, "memory_remember", **call)
    other = run(alice, "memory_remember", **(call | {"text": "My favorite color is blue."}))
    tried = run(alice, "memory_remember", text="My favorite color is blue.", dry_run=True)
    done = run(alice, "memory_remember", text="My favorite color is blue.")

    assert (first.status_code, first.json()["status"]) == (200, "committed")
    assert first.json() == again.json()
    assert (other.status_code, other.json()["code"]) == (409, "TOOL_CALL_CONFLICT")
    assert tried.json()["writes"] == done.json()["writes"]
    assert "favorite color is blue" in run(alice, "memory_context", query="favorite color").json()["context"]
    assert run(bob, "memory_context", query="favorite color").json()["sources"] == []
    [path] = [write["path"] for write in done.json()["writes"]]
    assert len(run(alice, "memory_history", path=path).json()["revisions"]) == 2
    assert alice.post("/v1/operations/call-1/revert").json()["code"] == "VERSION_CONFLICT"


def test_what_cannot_be_remembered_is_refused(alice: Client) -> None:
    """With a code and a hint; nothing is written."""
    for arguments, status, code in (
        ({}, 422, "VALIDATION_ERROR"),
        ({"text": ""}, 422, "VALIDATION_ERROR"),
        ({"text": "x" * 200_001}, 422, "VALIDATION_ERROR"),
        ({"text": "nul \0"}, 422, "VALIDATION_ERROR"),
        ({"text": "half \ud800"}, 422, "VALIDATION_ERROR"),
        ({"text": "tea", "wait": False, "dry_run": True}, 422, "VALIDATION_ERROR"),
        ({"text": "tea", "userId": "bob"}, 422, "VALIDATION_ERROR"),
        ({"text": "tea", "project": "zeus"}, 404, "PROJECT_NOT_FOUND"),
    ):
        refused = alice.post(
            "/v1/tools/memory_remember/execute",
            content=json.dumps({"arguments": arguments}),
            headers={"Content-Type": "application/json"},
        )

        assert (refused.status_code, refused.json()["code"]) == (status, code)
        assert run(alice, "memory_list").json()["files"] == []


def test_the_project_of_the_context_gets_what_is_work(client_of: ClientOf, root: Client) -> None:
    """What is personal stays with the user; a project of others is not found, and nothing is written."""
    for slug in ("apollo", "zeus"):
        root.put(f"/v1/admin/projects/{slug}")
    root.put("/v1/admin/projects/apollo/members/carol")
    backend, text = client_of("agent"), "I live in Lisbon. We decided to use Postgres."

    done = run(backend, "memory_remember", text=text, context={"userId": "carol", "project": "apollo"})
    refused = run(backend, "memory_remember", text=text, context={"userId": "carol", "project": "zeus"})

    assert {write["path"] for write in done.json()["writes"]} == {
        "projects/apollo/decisions.md",
        "user/profile.md",
    }
    assert (refused.status_code, refused.json()["code"]) == (404, "PROJECT_NOT_FOUND")


def test_a_first_user_writes_finds_and_reads(alice: Client) -> None:
    """What is written is found by its words at once, and read back as it was."""
    content = "# Alice\n\nLikes oolong tea, see [[tea]].\n"

    written = run(alice, "memory_write", path="user/alice.md", content=content, reason="she said so").json()
    found = run(alice, "memory_find", query="What tea does she like?").json()
    read = run(alice, "memory_read", path="user/alice.md").json()

    assert written["version"] == 1
    assert written["created"]
    [hit] = found["hits"]
    assert (hit["path"], hit["version"], hit["title"]) == ("user/alice.md", 1, "Alice")
    assert "oolong" in hit["snippet"]
    assert content[slice(*hit["span"].values())].startswith("# Alice")
    assert hit["match"]["bm25_rank"] == 1
    assert sum(hit["match"]["terms"].values()) == hit["score"]
    assert read["content"] == content
    assert read["sha256"] == written["sha256"]
    assert read["links"] == [{"target": "[[tea]]", "heading": None, "exists": False}]


def test_every_tool_runs(alice: Client) -> None:
    """One life of a file, each tool once; every answer names its call."""
    path = "user/plan.md"
    answers = [
        run(alice, "memory_write", path=path, content="# Plan\n\nLaunch in May.\n"),
        run(alice, "memory_patch", path=path, operation="replace", match="May", text="June"),
        run(alice, "memory_diff", path=path),
        run(alice, "memory_move", path=path, to="user/plans/launch.md"),
        run(alice, "memory_links", path="user/plans/launch.md"),
        run(alice, "memory_delete", path="user/plans/launch.md", base_version=3),
        run(alice, "memory_restore", path="user/plans/launch.md", version=3),
        run(alice, "memory_history", path="user/plans/launch.md"),
        run(alice, "memory_list", prefix="user/plans/"),
    ]

    bodies = [answer.json() for answer in answers]
    assert all(answer.is_success for answer in answers), bodies
    assert len({body["tool_call_id"] for body in bodies}) == len(bodies)
    assert "-Launch in May.\n+Launch in June." in bodies[1]["diff"]
    assert bodies[2]["diff"] == bodies[1]["diff"]
    assert [revision["operation"] for revision in bodies[7]["revisions"]] == ["restore", "delete", "move"]
    assert [file["path"] for file in bodies[8]["files"]] == ["user/plans/launch.md"]


@pytest.mark.parametrize(
    "context",
    [
        {"userId": "carol", "toolCallId": "call-1", "actor": "bot", "project": "apollo"},
        {"user_id": "carol", "tool_call_id": "call-1", "actor": "bot", "project": "apollo"},
        {"userId": "carol", "tool_call_id": "call-1", "actor": "bot", "project": "apollo"},
    ],
    ids=["camelCase", "snake_case", "both"],
)
def test_a_context_is_read_in_both_spellings(
    client_of: ClientOf, root: Client, context: dict[str, str]
) -> None:
    """The log shows for whom, by whom, in which call and project."""
    root.put("/v1/admin/projects/apollo")
    root.put("/v1/admin/projects/apollo/members/carol")

    answered = run(client_of("agent"), "memory_write", path="user/a.md", content="tea", context=context)

    assert answered.json()["tool_call_id"] == "call-1"
    [attempt] = client_of("agent", user="carol").get("/v1/operations/call-1").json()["attempts"]
    principal = attempt["principal"]
    assert (principal["user"], principal["actor"], principal["project"]) == ("carol", "bot", "apollo")


def test_null_is_absent_in_context_and_arguments(alice: Client) -> None:
    """A client that serialises its empty fields is not refused."""
    context = {"userId": None, "actor": None, "toolCallId": None, "project": None}

    listed = run(alice, "memory_list", prefix=None, limit=None, cursor=None, context=context)

    assert listed.json()["files"] == []


def test_a_model_that_names_an_empty_project_names_none(alice: Client) -> None:
    """Models fill in an empty text for what they leave out; a host that does so has a fault."""
    told = run(alice, "memory_remember", text="I prefer oolong tea.", project="")
    asked = run(alice, "memory_context", query="Which tea?", project="")
    refused = run(alice, "memory_context", context={"project": ""}, query="Which tea?").json()

    assert (refused["code"], refused["detail"]) == ("VALIDATION_ERROR", "The project has no name.")
    assert [write["path"] for write in told.json()["writes"]] == ["user/preferences.md"]
    assert "oolong" in asked.json()["context"]


def test_an_unbound_key_names_the_user_with_each_call(client_of: ClientOf) -> None:
    """Without one the call is refused, and the hint says where it goes."""
    refused = run(client_of("agent"), "memory_list")

    assert refused.json()["code"] == "VALIDATION_ERROR"
    assert "context.userId" in refused.json()["hint"]


def test_unknown_arguments_and_tools_are_refused_with_what_there_is(alice: Client) -> None:
    """The hint lists the tool's arguments; a tool that is missing is not found."""
    unknown = run(alice, "memory_find", query="tea", top_k=3)
    missing = run(alice, "memory_forget", query="tea")
    broken = alice.post(
        "/v1/tools/memory_find/execute",
        content=b'{"arguments": {"query": "tea",}}',
        headers={"Content-Type": "application/json"},
    )

    assert unknown.json()["code"] == "VALIDATION_ERROR"
    assert "top_k" in unknown.json()["detail"]
    assert unknown.json()["hint"] == (
        "The arguments are: query, limit, project, prefix, tags, mode, min_score, as_of, include."
    )
    assert (missing.status_code, missing.json()["code"]) == (404, "UNKNOWN_TOOL")
    assert missing.json()["hint"] == "List the tools with GET /v1/tools."
    assert (broken.status_code, broken.json()["code"]) == (422, "VALIDATION_ERROR")
    assert broken.json()["detail"].startswith("The body is no JSON, from its character 3")
    assert broken.json()["hint"].startswith("Send one well-formed JSON object in UTF-8.")


def test_conflicts_carry_what_a_program_needs(alice: Client) -> None:
    """Current version, reason and way out stand in the body."""
    run(alice, "memory_write", path="user/a.md", content="one")
    run(alice, "memory_write", path="user/a.md", content="two", base_version=1)

    exists = run(alice, "memory_write", path="user/a.md", content="three")
    stale = run(alice, "memory_write", path="user/a.md", content="three", base_version=1)
    absent = run(alice, "memory_patch", path="user/a.md", operation="replace", match="one", text="x")

    assert (exists.status_code, exists.json()["code"]) == (409, "FILE_EXISTS")
    assert (stale.status_code, stale.json()["code"]) == (409, "VERSION_CONFLICT")
    assert stale.json()["current_version"] == 2
    assert (absent.status_code, absent.json()["code"]) == (422, "PATCH_NOT_FOUND")


def test_a_retry_under_its_id_is_answered_as_at_first(alice: Client) -> None:
    """The same call again writes nothing; another call under that id is refused."""
    call = {"context": {"toolCallId": "once"}, "path": "user/a.md", "operation": "append", "text": "tea"}
    run(alice, "memory_write", path="user/a.md", content="# Drinks\n")

    first = run(alice, "memory_patch", **call)
    again = run(alice, "memory_patch", **call)
    other = run(alice, "memory_patch", **(call | {"text": "milk"}))

    assert first.json() == again.json()
    assert (other.status_code, other.json()["code"]) == (409, "TOOL_CALL_CONFLICT")
    assert run(alice, "memory_read", path="user/a.md").json()["content"] == "# Drinks\ntea\n"


def test_twenty_calls_at_once_under_one_id_write_once(alice: Client) -> None:
    """20 equal answers, or the word to come again in a moment; one revision."""

    def write(_: int) -> Response:
        return run(alice, "memory_write", path="user/a.md", content="tea", context={"toolCallId": "once"})

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(write, range(20)))

    done = [answer.json() for answer in answers if answer.is_success]
    waiting = [answer for answer in answers if not answer.is_success]
    assert {answer.json()["code"] for answer in waiting} <= {"TOOL_CALL_IN_PROGRESS"}
    assert done
    assert all(answer == done[0] for answer in done)
    assert len(run(alice, "memory_history", path="user/a.md").json()["revisions"]) == 1


def test_lines_appended_at_once_are_all_kept(alice: Client) -> None:
    """A patch without a base version cannot conflict."""
    run(alice, "memory_write", path="user/log.md", content="# Log\n")

    with ThreadPoolExecutor(16) as pool:
        answers = list(
            pool.map(
                lambda n: run(
                    alice, "memory_patch", path="user/log.md", operation="append", text=f"line {n}"
                ),
                range(32),
            )
        )

    assert all(answer.is_success for answer in answers)
    read = run(alice, "memory_read", path="user/log.md").json()
    assert read["version"] == 33
    assert sorted(read["content"].splitlines()[1:]) == sorted(f"line {n}" for n in range(32))


@pytest.mark.slow
def test_a_text_of_1_mib_fits_however_json_spells_it(alice: Client) -> None:
    """The bound on a request leaves room for a whole file with every character escaped."""
    content = "é" * (1 << 19)

    written = alice.post(
        "/v1/tools/memory_write/execute",
        content=json.dumps({"arguments": {"path": "user/a.md", "content": content}}, ensure_ascii=True),
        headers={"Content-Type": "application/json"},
    )
    too_much = run(alice, "memory_patch", path="user/a.md", operation="append", text="x")

    assert written.is_success
    assert (too_much.status_code, too_much.json()["code"]) == (413, "FILE_TOO_LARGE")


def test_the_project_of_the_context_is_searched_alone(client_of: ClientOf, root: Client) -> None:
    """Of several projects the named one; one that the user is not a member of does not exist."""
    for slug in ("apollo", "gemini", "secret"):
        root.put(f"/v1/admin/projects/{slug}")
        if slug != "secret":
            root.put(f"/v1/admin/projects/{slug}/members/carol")
        call = {"path": f"projects/{slug}/tea.md", "content": "oolong"}
        assert root.post("/v1/admin/tools/memory_write/execute", json={"arguments": call}).is_success
    backend = client_of("agent")

    everywhere = run(backend, "memory_find", query="oolong", context={"userId": "carol"})
    in_one = run(backend, "memory_find", query="oolong", context={"userId": "carol", "project": "gemini"})
    in_none = run(backend, "memory_find", query="oolong", context={"userId": "carol", "project": "secret"})
    nowhere = run(backend, "memory_find", query="oolong", context={"userId": "carol", "project": "nothing"})

    assert {hit["path"] for hit in everywhere.json()["hits"]} == {
        "projects/apollo/tea.md",
        "projects/gemini/tea.md",
    }
    assert [hit["path"] for hit in in_one.json()["hits"]] == ["projects/gemini/tea.md"]
    assert in_none.json()["code"] == nowhere.json()["code"] == "PROJECT_NOT_FOUND"
    assert in_none.json()["detail"].replace("secret", "nothing") == nowhere.json()["detail"]
