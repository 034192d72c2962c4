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
    assert recall(alice, "call-1", query="tea").json()["context"] == ""
    [shown] = alice.get("/v1/operations/call-1").json()["attempts"]
    listed = alice.get("/v1/operations").json()["operations"]

    assert [(inner["ordinal"], inner["tool"], inner["status"]) for inner in shown["inner"]] == [
        (1, "memory_find", "answered"),
        (2, "memory_pinned", "answered"),
    ]
    assert shown["inner"][0]["request"]["query"] == "tea"
    assert [(call["tool_call_id"], call["inner"]) for call in listed] == [("call-1", [])]
