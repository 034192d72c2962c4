"""A call as a file over HTTP."""

from collections.abc import Callable

from httpx2 import Client

from memex.service.log.replay.bundle_archive import read

ClientOf = Callable[..., Client]


def asked(client: Client, call_id: str) -> None:
    """Write a file and ask for it, under a tool call id."""
    written = client.put("/v1/file", params={"path": "user/tea.md"}, content="# Tea\n\nI like oolong tea.")
    body = {"context": {"toolCallId": call_id}, "arguments": {"query": "Which tea do I like?"}}
    assert written.is_success
    assert client.post("/v1/tools/memory_context/execute", json=body).is_success


def test_a_call_comes_as_a_zip(alice: Client) -> None:
    """With what the call saw; the export is logged under its own id."""
    asked(alice, "a/b-c")
    answer = alice.get("/v1/operations/a/b-c/bundle", headers={"Memex-Tool-Call-Id": "export-1"})
    bundle = read(answer.content)
    [logged] = alice.get("/v1/operations/export-1").json()["attempts"]

    assert answer.headers["content-type"] == "application/zip"
    assert answer.headers["content-disposition"] == 'attachment; filename="call.zip"'
    assert (bundle.operation.tool_call_id, bundle.operation.kind) == ("a/b-c", "memory_context")
    assert [scope.mount for scope in bundle.scopes if scope.revisions] == ["user"]
    assert (logged["tool"], logged["request"]) == ("memory_export", {"call": "a/b-c"})


def test_a_call_that_gave_no_answer_is_no_bundle(alice: Client) -> None:
    """The refusal says what it did instead."""
    alice.get("/v1/file", params={"path": "user/none.md"}, headers={"Memex-Tool-Call-Id": "failed"})
    answer = alice.get("/v1/operations/failed/bundle")

    assert (answer.status_code, answer.json()["code"]) == (422, "VALIDATION_ERROR")


def test_a_call_that_never_was_is_no_bundle(alice: Client) -> None:
    """As when it is shown."""
    answer = alice.get("/v1/operations/never/bundle")

    assert (answer.status_code, answer.json()["code"]) == (404, "OPERATION_NOT_FOUND")
