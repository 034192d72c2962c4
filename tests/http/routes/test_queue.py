"""The queue over HTTP: a text that is not waited for, what one sees of it, and putting it back."""

from collections.abc import Callable
from typing import Any

import pytest
from httpx2 import Client, Response

from memex.service.log import queue

ClientOf = Callable[..., Client]
CarryOut = Callable[[str], None]

TEXT = "We decided to use Postgres."


@pytest.fixture
def carry_out(served: Any) -> CarryOut:
    """What does a queued call as a worker does."""

    async def of(call: str) -> None:
        database = served.service.database
        async with database.maintenance() as connection:
            statement = (
                b"select scope_id, operation_id from operation where tool_call_id = %s and status = 'queued'"
            )
            [row] = await (await connection.execute(statement, [call])).fetchall()
        assert await queue.carry_out(served.service, row["scope_id"], row["operation_id"]) is None

    return lambda call: served.run(of(call))


def remember(client: Client, call: str, *, wait: bool = False, **more: Any) -> Response:
    """Have a text remembered."""
    body = {"context": {"toolCallId": call}, "arguments": {"text": TEXT, "wait": wait, **more}}
    return client.post("/v1/tools/memory_remember/execute", json=body)


def calls(client: Client) -> list[dict[str, Any]]:
    """Return what the queue shows to an agent."""
    listed: list[dict[str, Any]] = client.get("/v1/queue").json()["calls"]
    return listed


def test_a_text_is_queued_shown_and_done(alice: Client, carry_out: CarryOut) -> None:
    """Who asks again under the id hears what became of it; who would wait is told when to come back."""
    asked = remember(alice, "http-1")
    shown = calls(alice)
    early = remember(alice, "http-1", wait=True)
    carry_out("http-1")
    done, again = remember(alice, "http-1"), remember(alice, "http-1", wait=True)

    assert (asked.status_code, asked.json()["status"]) == (200, "queued")
    accepted_at = shown[0].pop("accepted_at")
    assert shown == [
        {
            "tool_call_id": "http-1",
            "user": "alice",
            "status": "queued",
            "attempts": 0,
            "error_code": None,
            "lease_until": None,
        }
    ]
    assert accepted_at
    assert (early.status_code, early.json()["code"]) == (409, "TOOL_CALL_IN_PROGRESS")
    assert early.headers["retry-after"] == str(early.json()["retry_after_s"])
    assert done.json() == again.json()
    assert done.json()["status"] == "committed"
    assert calls(alice) == []


def test_what_was_given_up_is_seen_and_put_back(alice: Client, root: Client, carry_out: CarryOut) -> None:
    """A membership ends before the call is carried out; when it is there again an admin lets the call go on."""
    root.put("/v1/admin/projects/apollo")
    root.put("/v1/admin/projects/apollo/members/alice")
    remember(alice, "http-2", project="apollo")
    root.delete("/v1/admin/projects/apollo/members/alice")
    carry_out("http-2")
    given_up = calls(alice)
    root.put("/v1/admin/projects/apollo/members/alice")
    retried = root.post("/v1/admin/queue/http-2/retry")
    again = root.post("/v1/admin/queue/http-2/retry")
    carry_out("http-2")

    assert [(one["status"], one["attempts"], one["error_code"]) for one in given_up] == [
        ("quarantined", 1, "PROJECT_NOT_FOUND")
    ]
    assert [(one["user"], one["status"], one["attempts"]) for one in retried.json()["calls"]] == [
        ("alice", "queued", 0)
    ]
    assert (again.status_code, again.json()["code"]) == (404, "OPERATION_NOT_FOUND")
    [write] = remember(alice, "http-2", project="apollo").json()["writes"]
    assert write["path"] == "projects/apollo/decisions.md"


def test_all_that_was_given_up_is_put_back(
    client_of: ClientOf, alice: Client, root: Client, carry_out: CarryOut
) -> None:
    """Of one user or of all, the first first; and none is no error."""
    for project, member in (("apollo", "alice"), ("zeus", "alice")):
        root.put(f"/v1/admin/projects/{project}")
        root.put(f"/v1/admin/projects/{project}/members/{member}")
        remember(alice, f"http-{project}", project=project)
        root.delete(f"/v1/admin/projects/{project}/members/{member}")
    for project in ("zeus", "apollo"):
        carry_out(f"http-{project}")

    of_bob = client_of("admin", user="bob").post("/v1/admin/queue/retry")
    of_all = root.post("/v1/admin/queue/retry")
    of_none = root.post("/v1/admin/queue/retry")

    assert of_bob.json() == of_none.json() == {"calls": []}
    assert [one["tool_call_id"] for one in of_all.json()["calls"]] == ["http-apollo", "http-zeus"]
    assert [one["status"] for one in calls(alice)] == ["queued", "queued"]


def test_an_admin_sees_the_queue_of_the_tenant(client_of: ClientOf, alice: Client, root: Client) -> None:
    """All of it, a page at a time, or one user's; the text of none."""
    bob = client_of("agent", bound_to="bob")
    for number, client in enumerate((alice, bob, alice)):
        remember(client, f"http-{number}")

    first = root.get("/v1/admin/queue", params={"limit": 2})
    second = root.get("/v1/admin/queue", params={"limit": 2, "cursor": first.json()["next_cursor"]})
    of_bob = client_of("admin", user="bob").get("/v1/admin/queue")

    seen = [one["tool_call_id"] for page in (first, second) for one in page.json()["calls"]]
    assert seen == ["http-0", "http-1", "http-2"]
    assert second.json()["next_cursor"] is None
    assert [one["tool_call_id"] for one in of_bob.json()["calls"]] == ["http-1"]
    assert "Postgres" not in first.text


@pytest.mark.parametrize("query", [{"limit": 0}, {"limit": 501}, {"cursor": "x"}])
def test_a_bad_page_is_refused(alice: Client, query: dict[str, Any]) -> None:
    """As elsewhere."""
    assert alice.get("/v1/queue", params=query).json()["code"] == "VALIDATION_ERROR"


def test_an_id_of_a_url_is_one(root: Client) -> None:
    """With a slash it is an id; with a space it is none."""
    assert root.post("/v1/admin/queue/a/b/retry").json()["code"] == "OPERATION_NOT_FOUND"
    assert root.post("/v1/admin/queue/a%20b/retry").json()["code"] == "VALIDATION_ERROR"
