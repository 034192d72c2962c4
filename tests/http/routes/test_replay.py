"""A call is run again over HTTP."""

from typing import Any

import pytest
from httpx2 import Client


@pytest.fixture
def asked(alice: Client) -> str:
    """A call that gave a context, and a change since; its id has a slash."""
    written = alice.put(
        "/v1/file", params={"path": "user/tea.md"}, content=f"# Tea\n\n{'I like oolong tea. ' * 20}"
    )
    body = {"context": {"toolCallId": "a/b"}, "arguments": {"query": "Which tea do I like?"}}
    assert written.is_success
    assert alice.post("/v1/tools/memory_context/execute", json=body).is_success
    assert alice.delete("/v1/file", params={"path": "user/tea.md"}).is_success
    return "a/b"


@pytest.mark.parametrize("body", [None, {}])
def test_a_call_gives_the_same_bytes(alice: Client, asked: str, body: dict[str, Any] | None) -> None:
    """With no body, or one that changes nothing."""
    answer = alice.post(f"/v1/operations/{asked}/replay", json=body)
    result = answer.json()

    assert answer.status_code == 200
    assert (result["is_equal"], result["difference"]) == (True, None)
    assert "oolong" in result["result"]["context"]


def test_a_change_is_answered_with_both_sides(alice: Client, asked: str) -> None:
    """What was chosen before and after."""
    result = alice.post(f"/v1/operations/{asked}/replay", json={"budget": 300}).json()

    assert result["after"]["chars"] <= 300 < result["before"]["chars"]
    assert result["change"] == {"budget": 300}


def test_memory_as_it_is_now_is_a_change(alice: Client, asked: str) -> None:
    """The file that was deleted since the call is lost."""
    result = alice.post(f"/v1/operations/{asked}/replay", json={"as_of": "now"}).json()

    assert result["after"]["items"] == []
    assert [item.partition("@")[0] for item in result["removed"]] == ["user/tea.md"]


def test_what_cannot_be_is_refused(alice: Client, asked: str) -> None:
    """A model that is not set up for the service is asked by no request."""
    for call, body, status, code in (
        ("none", None, 404, "OPERATION_NOT_FOUND"),
        ("a/b", {"budget": 5}, 422, "VALIDATION_ERROR"),
        ("a/b", {"model": "openai:x"}, 422, "VALIDATION_ERROR"),
        ("a/b", {"as_of": "yesterday"}, 422, "VALIDATION_ERROR"),
        ("a/b", {"search_mode": "hybrid"}, 422, "VALIDATION_ERROR"),
    ):
        answer = alice.post(f"/v1/operations/{call}/replay", json=body)

        assert (answer.status_code, answer.json()["code"]) == (status, code)


@pytest.mark.parametrize("body", [None, {"as_of": "now"}])
def test_a_replay_shows_an_agent_marks(alice: Client, asked: str, body: dict[str, Any] | None) -> None:
    """Of a call that saw what somebody asked to forget since; so does one with something changed."""
    tea = "I prefer quetzalcoatl tea in the morning."
    told = {"context": {"toolCallId": "told"}, "arguments": {"text": tea}}
    assert alice.post("/v1/tools/memory_remember/execute", json=told).is_success
    question = {"context": {"toolCallId": "question"}, "arguments": {"query": "Which tea do I prefer?"}}
    assert "quetzalcoatl" in alice.post("/v1/tools/memory_context/execute", json=question).text
    forget = {"arguments": {"text": f"Please forget that {tea}"}}
    assert alice.post("/v1/tools/memory_remember/execute", json=forget).is_success

    shown = alice.post("/v1/operations/question/replay", json=body).text

    assert "quetzalcoatl" not in shown
    assert "[forgotten]" in shown
