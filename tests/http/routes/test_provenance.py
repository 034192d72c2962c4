"""The story of a call, who wrote each line, and what saw what, over HTTP."""

from collections.abc import Callable
from typing import Any

import pytest
from httpx2 import Client

ClientOf = Callable[..., Client]
PATH = "user/tea.md"


def run(client: Client, tool: str, call_id: str, **arguments: Any) -> dict[str, Any]:
    """Run a tool under a tool call id, for the user of the client's key."""
    body = {"context": {"toolCallId": call_id}, "arguments": arguments}
    answered = client.post(f"/v1/tools/memory_{tool}/execute", json=body)
    assert answered.is_success, answered.text
    answer: dict[str, Any] = answered.json()
    return answer


def written(client: Client) -> None:
    """Write a file in two calls, and ask for it in a third."""
    run(client, "write", "one", path=PATH, content="# Tea\n\nOolong.\n")
    run(client, "write", "two", path=PATH, content="# Tea\n\nOolong.\nGreen.\n", base_version=1)
    run(client, "context", "asked", query="oolong")


def test_a_call_is_told_as_typed_fields_beside_what_was_logged(alice: Client) -> None:
    """Steps of their kinds, what was chosen, written and returned, and what it took."""
    written(alice)

    [asked] = alice.get("/v1/operations/asked").json()["attempts"]
    [two] = alice.get("/v1/operations/two").json()["attempts"]

    trace = asked["trace"]
    assert [step["tool"] for step in trace["steps"]] == [one["tool"] for one in asked["inner"]]
    assert trace["steps"][0]["kind"] == "find"
    assert trace["steps"][0]["hits"][0]["path"] == PATH
    assert [(one["path"], one["version"]) for one in trace["chosen"]] == [(PATH, 2)]
    assert trace["returned"]["hash"] == asked["response"]["hash"]
    assert trace["totals"]["operations"] == len(asked["inner"])
    assert trace["totals"]["usd"] is None
    assert [(one["path"], one["added"], one["removed"]) for one in two["trace"]["written"]] == [(PATH, 1, 0)]
    listed = alice.get("/v1/operations").json()["operations"]
    assert [one["trace"] for one in listed] == [None] * 3, "the list has no stories"


@pytest.mark.slow
def test_the_story_is_documented_with_its_kinds_of_steps(alice: Client) -> None:
    """The OpenAPI document names the fields, and by which one the kinds are told apart."""
    schemas = alice.get("/openapi.json").json()["components"]["schemas"]

    steps = schemas["Trace"]["properties"]["steps"]["items"]
    assert set(steps["discriminator"]["mapping"]) == {
        "find",
        "compare",
        "read",
        "links",
        "files",
        "model",
        "other",
    }
    assert {"memory_ms", "model_ms", "usd"} <= set(schemas["Totals"]["properties"])
    assert "BlameResult" in schemas
    assert "CallsThatSaw" in schemas


def test_blame_names_who_wrote_each_line(alice: Client) -> None:
    """Of the newest version or of an earlier one; who asks is logged under the id that was sent."""
    written(alice)

    newest = alice.get("/v1/blame", params={"path": PATH}, headers={"Memex-Tool-Call-Id": "why"}).json()
    first = alice.get("/v1/blame", params={"path": PATH, "version": 1}).json()

    assert [(line["text"], line["wrote"]) for line in newest["lines"]][-2:] == [
        ("Oolong.\n", f"{PATH}@1"),
        ("Green.\n", f"{PATH}@2"),
    ]
    assert [one["tool_call_id"] for one in newest["revisions"]] == ["two", "one"]
    assert newest["tool_call_id"] == "why"
    assert len(first["lines"]) == 3
    assert alice.get("/v1/operations/why").json()["attempts"][0]["tool"] == "memory_blame"
    assert alice.get("/v1/blame", params={"path": PATH, "version": 0}).json()["code"] == "VALIDATION_ERROR"
    assert alice.get("/v1/blame", params={"path": "user/no.md"}).json()["code"] == "FILE_NOT_FOUND"


def test_calls_that_saw_a_version_and_versions_that_a_call_saw(alice: Client) -> None:
    """Both ways, with how; in pages."""
    written(alice)
    run(alice, "read", "read", path=PATH)
    at = {"path": PATH, "version": 2}

    calls = alice.get("/v1/seen/calls", params=at).json()
    page = alice.get("/v1/seen/calls", params={**at, "limit": 1}).json()
    rest = alice.get("/v1/seen/calls", params={**at, "cursor": page["next_cursor"]}).json()
    seen = alice.get("/v1/seen/revisions", params={"tool_call_id": "asked"}).json()

    assert [(one["tool_call_id"], one["how"]) for one in calls["calls"]] == [
        ("read", ["returned"]),
        ("asked", ["returned", "read", "found", "listed"]),
    ]
    assert page["calls"] + rest["calls"] == calls["calls"]
    assert [(one["path"], one["version"]) for one in seen["revisions"]] == [(PATH, 2)]
    assert alice.get("/v1/seen/calls", params={"path": PATH}).json() == calls
    for params in ({}, {**at, "version": 0}, {**at, "limit": 501}, {**at, "cursor": "x"}):
        refused = alice.get("/v1/seen/calls", params=params)
        assert (refused.status_code, refused.json()["code"]) == (422, "VALIDATION_ERROR")


def test_an_admin_finds_everybody_whom_a_shared_note_reached(
    client_of: ClientOf, alice: Client, bob: Client, root: Client
) -> None:
    """Without Memex-User those of the tenant, by user; with it that user's."""
    note = {"arguments": {"path": "shared/a.md", "content": "Oolong is bad for you."}}
    assert root.post("/v1/admin/tools/memory_write/execute", json=note).is_success
    for name, client in (("by-alice", alice), ("by-bob", bob)):
        run(client, "context", name, query="oolong")
    at = {"path": "shared/a.md", "version": 1}

    everyone = root.get("/v1/admin/seen/calls", params=at).json()["calls"]
    for_bob = client_of("admin", user="bob").get("/v1/admin/seen/calls", params=at).json()["calls"]
    own = alice.get("/v1/seen/calls", params=at).json()["calls"]

    assert [(one["user"], one["tool_call_id"]) for one in everyone] == [
        ("bob", "by-bob"),
        ("alice", "by-alice"),
    ]
    assert [one["tool_call_id"] for one in for_bob] == ["by-bob"]
    assert [one["tool_call_id"] for one in own] == ["by-alice"]
