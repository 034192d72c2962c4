"""memory_context over HTTP: what is refused, and how a call shows the operations inside it."""

import httpx2


def recall(client: httpx2.Client, call_id: str, **arguments: object) -> httpx2.Response:
    """Run memory_context under an id."""
    call = {"context": {"toolCallId": call_id}, "arguments": arguments}
    return client.post("/v1/tools/memory_context/execute", json=call)


def test_a_budget_that_does_not_fit_is_refused(alice: httpx2.Client) -> None:
    """With 422; what is too small has a code of its own, and the smallest that is taken."""
    small = recall(alice, "small", query="tea", budget=199)
    large = recall(alice, "large", query="tea", budget=200_001)

    assert (small.status_code, small.json()["code"], small.json()["minimum"]) == (
        422,
        "BUDGET_TOO_SMALL",
        200,
    )
    assert (large.status_code, large.json()["code"]) == (422, "VALIDATION_ERROR")


def test_a_call_shows_the_operations_inside_it(alice: httpx2.Client) -> None:
    """Read alone, in their order; a list of calls holds none of them."""
    assert recall(alice, "call-1", query="tea").json()["sources"] == []
    [shown] = alice.get("/v1/operations/call-1").json()["attempts"]
    listed = alice.get("/v1/operations").json()["operations"]

    assert [(inner["ordinal"], inner["tool"], inner["status"]) for inner in shown["inner"]] == [
        (1, "memory_find", "answered"),
        (2, "memory_pinned", "answered"),
        (3, "memory_list", "answered"),
        (4, "memory_list", "answered"),
    ]
    assert shown["inner"][0]["request"]["query"] == "tea"
    assert [(call["tool_call_id"], call["inner"]) for call in listed] == [("call-1", [])]


def test_conversations_are_included_from_the_first_import_on(alice: httpx2.Client) -> None:
    """Though the service keeps what it looked up of alice before; what is unknown is refused with what there is."""
    assert alice.put("/v1/file", params={"path": "user/tea.md"}, content="Sencha.\n").is_success
    asked = {"query": "How hot for oolong?", "include": ["conversations"]}
    before = recall(alice, "before", **asked).json()
    said = (
        '{"kind": "chat"}\n{"id": "1", "messages": [{"id": "1", "role": "user", "text": "Oolong: how hot?"}]}'
    )
    assert alice.post("/v1/conversations", content=said).is_success
    after = recall(alice, "after", **asked).json()
    [shown] = alice.get("/v1/operations/after").json()["attempts"]
    refused = recall(alice, "refused", query="tea", include=["dreams"])

    assert (before["sources"], before["included"][0]["passages"]) == ([], 0)
    assert "Oolong: how hot?" in after["context"]
    assert shown["inner"][0]["tool"] == "context_include"
    assert shown["inner"][0]["response"]["passages"][0][0].startswith("conversations/")
    assert (refused.status_code, refused.json()["code"]) == (422, "VALIDATION_ERROR")
    assert "include" in refused.json()["detail"]
