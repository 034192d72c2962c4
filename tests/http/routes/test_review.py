"""The review over HTTP: what waits for a person, and how it is decided, kept and undone."""

from collections.abc import Callable
from typing import Any

import pytest
from httpx2 import Client

from memex.service.log import queue

ClientOf = Callable[..., Client]

OLDER = "We decided that the bookbinding workshop of the guild takes place in room 204."
# What else memory holds, so that words differ in how much they say.
WORLD = (
    "I am allergic to walnuts. My dentist is Dr. Okafor. The cabin key hangs behind the boiler. "
    "Marta runs the bakery on Elm Street. I prefer window seats on trains. I need to renew the passport. "
    "The quarterly report goes to the board in October. Our mascot is a heron called Fitz. "
    "The choir rehearses in the old chapel. My bicycle has a blue saddle. The greenhouse is heated with gas. "
)
OWED = "I need to pay Karim 200 euros for the tent. I need to pay Karim 350 euros for the stove."
NEWER = "We decided that in room 311 the guild holds its bookbinding workshop."


def remember(client: Client, text: str, **more: Any) -> dict[str, Any]:
    """Have a text remembered, and return the answer."""
    body = {"context": {"toolCallId": more.pop("call", None)}, "arguments": {"text": text, **more}}
    answer = client.post("/v1/tools/memory_remember/execute", json=body)
    assert answer.is_success, answer.text
    return dict(answer.json())


def review(client: Client, **query: Any) -> dict[str, Any]:
    """Return what waits."""
    return dict(client.get("/v1/review", params=query).json())


def decide(client: Client, base: str = "/v1", **decisions: str) -> list[dict[str, Any]]:
    """Decide about items, each by the end of its id, and return what became of it."""
    waiting = client.get(f"{base}/review").json()["items"]
    chosen = [
        {"id": one["id"], "decision": decision}
        for one in waiting
        for name, decision in decisions.items()
        if one["kind"] == name
    ]
    answer = client.post(f"{base}/review", json={"decisions": chosen})
    assert answer.is_success, answer.text
    return list(answer.json()["items"])


def rivals(client: Client) -> dict[str, Any]:
    """Let memory hold two statements that probably contradict each other; return the answer to the second."""
    remember(client, WORLD + OLDER)
    answer = remember(client, NEWER)
    assert answer["rivals"], answer
    return answer


def test_a_rival_waits_until_it_is_taken_out(alice: Client) -> None:
    """The item says where the older statement stands; the decision is one call, whose undoing brings it back."""
    answer = rivals(alice)
    [item] = review(alice)["items"]
    read = alice.get("/v1/file", params={"path": item["path"]}).json()["content"]

    assert (item["kind"], item["text"], item["newer"]) == ("rival", OLDER, NEWER)
    assert (item["tool_call_id"], item["decisions"]) == (answer["tool_call_id"], ["apply", "keep"])
    assert OLDER in read[slice(*item["span"])]

    [done] = decide(alice, rival="apply")
    assert (done["status"], done["undo"]) == ("done", "revert")
    assert review(alice)["items"] == []
    assert OLDER not in alice.get("/v1/file", params={"path": item["path"]}).json()["content"]
    again = alice.post("/v1/review", json={"decisions": [{"id": item["id"], "decision": "apply"}]}).json()
    assert [one["status"] for one in again["items"]] == ["gone"]
    assert alice.post(f"/v1/operations/{done['tool_call_id']}/revert").is_success
    assert [one["id"] for one in review(alice)["items"]] == [item["id"]]


def test_a_rival_that_is_kept_does_not_wait_again(alice: Client) -> None:
    """Also not when both are said again. Undoing the call takes its stamp away, and opens the item again."""
    rivals(alice)
    [done] = decide(alice, rival="keep")

    assert review(alice)["items"] == []
    for said_again in (NEWER, OLDER):
        remember(alice, said_again)
        assert review(alice)["items"] == []
    assert alice.post(f"/v1/operations/{done['tool_call_id']}/revert").is_success
    assert review(alice)["counts"]["rival"] == 1


def test_a_rival_is_gone_with_its_newer_statement(alice: Client) -> None:
    """Who undoes the call that left it has settled it."""
    answer = rivals(alice)
    assert alice.post(f"/v1/operations/{answer['tool_call_id']}/revert").is_success

    assert review(alice)["items"] == []


def test_candidates_of_a_request_to_forget_wait(alice: Client) -> None:
    """Each is decided by itself: one is taken out, the other stays for good."""
    remember(alice, WORLD + OWED)
    answer = remember(alice, "Forget that I pay Karim.")
    assert len(answer["candidates"]) == 2, answer

    first, second = review(alice, kind="forget")["items"]
    assert {first["detail"], second["detail"]} == {"Forget that I pay Karim."}
    sent = [{"id": first["id"], "decision": "apply"}, {"id": second["id"], "decision": "keep"}]
    done = alice.post("/v1/review", json={"decisions": sent}).json()["items"]

    assert [one["status"] for one in done] == ["done", "done"]
    assert review(alice)["items"] == []
    text = alice.get("/v1/file", params={"path": first["path"]}).json()["content"]
    assert first["text"] not in text
    assert second["text"] in text


def test_a_flagged_secret_waits_and_is_never_shown(alice: Client) -> None:
    """It is kept by the log, opened again, and taken out with a mark in its place."""
    note = "# Flat\n\nThe wifi password is Tr0ub4dor&3x.\n\nThe rent is due.\n"
    assert alice.put("/v1/file", params={"path": "user/flat.md"}, content=note).is_success
    listed = alice.get("/v1/review")
    [item] = listed.json()["items"]

    assert "Tr0ub4dor" not in listed.text
    assert (item["kind"], item["path"], item["detail"]) == ("secret", "user/flat.md", "password")
    assert "Tr0ub4dor&3x" in note[slice(*item["span"])]
    [kept] = decide(alice, secret="keep")  # a kind of item
    assert (kept["status"], kept["undo"], review(alice)["items"]) == ("done", "reopen", [])
    longer = {"operation": "append", "text": "The cellar is dry."}
    assert alice.patch("/v1/file", params={"path": "user/flat.md"}, json=longer).is_success
    assert review(alice)["items"] == []  # also in the next version
    alice.post("/v1/review", json={"decisions": [{"id": item["id"], "decision": "reopen"}]})
    [done] = decide(alice, secret="apply")  # a kind of item
    assert done["undo"] == "revert"
    assert review(alice)["items"] == []
    assert "[secret: password]" in alice.get("/v1/file", params={"path": "user/flat.md"}).text


def test_what_the_queue_gave_up_waits(served: Any, alice: Client, root: Client) -> None:
    """An agent can leave it; an administrator tries it again."""
    root.put("/v1/admin/projects/apollo")
    root.put("/v1/admin/projects/apollo/members/alice")
    remember(alice, "We decided to use Postgres.", wait=False, project="apollo", call="given-up")
    root.delete("/v1/admin/projects/apollo/members/alice")
    served.run(_carry_out(served, "given-up"))

    [item] = review(alice)["items"]
    assert (item["kind"], item["detail"], item["decisions"]) == ("queue", "PROJECT_NOT_FOUND", ["keep"])
    refused = alice.post("/v1/review", json={"decisions": [{"id": item["id"], "decision": "apply"}]})
    assert refused.json()["code"] == "VALIDATION_ERROR"
    [done] = decide(root, "/v1/admin", queue="apply")
    assert done["status"] == "done"
    assert review(alice)["items"] == []
    assert [one["status"] for one in alice.get("/v1/queue").json()["calls"]] == ["queued"]


def test_the_list_pages_and_is_each_users_own(alice: Client, bob: Client) -> None:
    """The cursor goes on where the page ended; another user sees nothing of it."""
    for number in range(5):
        note = f"The door code of house {number} is 47113{number}.\n"
        assert alice.put("/v1/file", params={"path": f"user/{number}.md"}, content=note).is_success
    seen, cursor = [], None
    while cursor is not None or not seen:
        page = review(alice, limit=2, **({"cursor": cursor} if cursor else {}))
        seen += [one["path"] for one in page["items"]]
        cursor = page["next_cursor"]

    assert seen == [f"user/{number}.md" for number in reversed(range(5))]
    assert (page["counts"]["secret"], page["is_complete"]) == (5, True)
    assert review(bob)["items"] == []


@pytest.mark.parametrize(
    "decisions",
    [
        [],
        [{"id": "a", "decision": "keep"}, {"id": "a", "decision": "apply"}],
        [{"id": "a", "decision": "perhaps"}],
        [{"id": str(number), "decision": "keep"} for number in range(101)],
    ],
)
def test_bad_decisions_are_refused(alice: Client, decisions: list[dict[str, str]]) -> None:
    """None, two about one item, an unknown one, or too many: nothing is carried out."""
    answer = alice.post("/v1/review", json={"decisions": decisions})

    assert answer.json()["code"] == "VALIDATION_ERROR"


async def _carry_out(served: Any, call: str) -> None:
    async with served.service.database.maintenance() as connection:
        statement = (
            b"select scope_id, operation_id from operation where tool_call_id = %s and status = 'queued'"
        )
        [row] = await (await connection.execute(statement, [call])).fetchall()
    await queue.carry_out(served.service, row["scope_id"], row["operation_id"])


def test_decisions_that_are_sent_again_get_the_first_answer(alice: Client) -> None:
    """Under its id a request is done once; another request under that id is refused."""
    rivals(alice)
    item = next(one for one in review(alice)["items"] if one["kind"] == "rival")
    keep = {"decisions": [{"id": item["id"], "decision": "keep"}]}
    sent = {"Memex-Tool-Call-Id": "decided-once"}

    first = alice.post("/v1/review", json=keep, headers=sent)
    again = alice.post("/v1/review", json=keep, headers=sent)
    other = alice.post("/v1/review", json={"decisions": [{"id": "x:y", "decision": "keep"}]}, headers=sent)

    assert first.json()["items"][0]["status"] == "done"
    assert (again.status_code, again.json()) == (200, first.json())
    assert (other.status_code, other.json()["code"]) == (409, "TOOL_CALL_CONFLICT")
