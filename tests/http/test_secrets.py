"""Secrets at the doors of the service, over HTTP."""

import io
import random
import zipfile
from typing import Any

from httpx2 import Client, Response
from tests.kit.zips import zipped

from memex.evals.secrets import formats
from memex.store.identity.authentication import new_secret


def run(client: Client, tool: str, call: str | None = None, /, **arguments: Any) -> Response:
    """Run a tool."""
    context = {"toolCallId": call} if call else {}
    return client.post(f"/v1/tools/{tool}/execute", json={"context": context, "arguments": arguments})


def stored(client: Client, served: Any) -> str:
    """Return everything that the tables hold of texts and calls."""

    async def dump() -> str:
        async with served.service.database.maintenance() as connection:
            held = ""
            for table in ("operation", "revision", "chunk"):
                statement = f"select coalesce(string_agg(t::text, ' '), '') as all from {table} t"  # noqa: S608
                [row] = await (await connection.execute(statement.encode())).fetchall()
                held += row["all"]
            return held

    text: str = served.run(dump())
    return text


def test_nothing_of_a_key_in_a_text_to_remember_is_stored(alice: Client, served: Any) -> None:
    """Neither a line of a private key nor one of our own keys comes into files, log or queue."""
    rng = random.Random(1)
    pem, own = formats.private_key(rng), new_secret()
    lines = [line for line in pem.splitlines() if not line.startswith("-----")]
    text = f"The key of the build is:\n\n{pem}\n\nThe agent uses {own} in staging. I like oolong tea."

    answer = run(alice, "memory_remember", "pem-1", text=text).json()
    queued = run(alice, "memory_remember", "pem-2", text=text, wait=False)
    failed = run(alice, "memory_remember", "pem-3", text=text, project="none-such")

    held = stored(alice, served)
    assert len(lines) >= 13
    assert not [line for line in [*lines, own] if line in held]
    assert {one["kind"] for one in answer["secrets"]} == {"private key", "memex key"}
    assert queued.status_code == 200
    assert failed.status_code == 404
    assert own not in failed.text
    assert "oolong" in held


def test_a_repeat_of_a_redacted_call_gets_the_first_answer(alice: Client) -> None:
    """The request is compared without its secrets, and the answer names them again."""
    text = f"I prefer tea. My key is {new_secret()} for now."

    first = run(alice, "memory_remember", "twice", text=text).json()
    second = run(alice, "memory_remember", "twice", text=text).json()

    assert first == second
    assert first["secrets"][0]["action"] == "redacted"


def test_a_file_stays_as_it_was_sent_and_its_secrets_are_named(alice: Client, served: Any) -> None:
    """The answer and the log say place and kind; a write that fails leaves nothing of the secret in the log."""
    own, other = new_secret(), new_secret()
    content = f"# Deploy\n\nKey: {own}\n"

    answer = run(alice, "memory_write", "w-1", path="user/deploy.md", content=content).json()
    refused = run(alice, "memory_write", "w-2", path="user/deploy.md", content=f"# New\n\n{other}\n")
    read = run(alice, "memory_read", path="user/deploy.md").json()
    patched = run(
        alice, "memory_patch", path="user/deploy.md", operation="replace", match=own, text="in the safe"
    ).json()

    assert answer["secrets"] == [
        {"argument": "content", "line": 3, "column": 6, "kind": "memex key", "action": "flagged"}
    ]
    assert read["content"] == content
    assert refused.status_code == 409
    assert other not in stored(alice, served)
    assert patched["changed"]
    assert "secrets" not in patched


def test_a_batch_names_the_edit(alice: Client) -> None:
    """The argument of a finding names the edit by its index."""
    edits = [
        {"kind": "write", "path": "user/a.md", "content": "tea"},
        {"kind": "write", "path": "user/b.md", "content": new_secret()},
    ]

    [found] = run(alice, "memory_write_many", edits=edits).json()["secrets"]

    assert found["argument"] == "edits.1.content"


def test_an_import_names_the_secrets_of_its_files(alice: Client, served: Any) -> None:
    """Files are stored as they are; the report and the log say where secrets stand, and hold none."""
    secret = new_secret()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as vault:
        vault.writestr("plan.md", "# Plan\n\nWe sail on Monday.\n")
        vault.writestr("deploy.md", f"# Deploy\n\nKey: {secret}\n")

    report = alice.post(
        "/v1/import", content=packed.getvalue(), headers={"Content-Type": "application/zip"}
    ).json()

    place = {"path": "user/deploy.md", "line": 3, "column": 6, "kind": "memex key", "action": "flagged"}
    assert report["secrets"] == [place]
    assert report["counts"]["secrets"] == 1
    assert secret in run(alice, "memory_read", path="user/deploy.md").json()["content"]
    [logged] = alice.get(f"/v1/operations/{report['tool_call_id']}").json()["attempts"]
    assert secret not in str(logged)
    assert logged["config"]["secrets"] == [place]


def test_the_review_lists_the_secrets_of_an_import(alice: Client) -> None:
    """Each flagged secret of a file waits until somebody redacts it; those of files that were kept out do not."""
    secret, other = new_secret(), new_secret()
    files = {"plan.md": "# Plan\n", "a.md": f"Key: {secret}\n", "b/c.md": f"# C\n\nKey: {other}\n"}

    report = alice.post("/v1/import", content=zipped({n: t.encode() for n, t in files.items()})).json()
    waiting = alice.get("/v1/review").json()["items"]
    [batch] = alice.get(f"/v1/operations/{report['calls'][0]}").json()["attempts"]

    assert {(one["kind"], one["path"], one["detail"]) for one in waiting} == {
        ("secret", "user/a.md", "memex key"),
        ("secret", "user/b/c.md", "memex key"),
    }
    assert {one["tool_call_id"] for one in waiting} == set(report["calls"])
    assert batch["config"]["secrets"] == report["secrets"]
    decided = [{"id": one["id"], "decision": "apply"} for one in waiting]
    assert alice.post("/v1/review", json={"decisions": decided}).is_success
    assert alice.get("/v1/review").json()["items"] == []
    read = run(alice, "memory_read", path="user/a.md").json()["content"]
    assert read == "Key: [secret: memex key]\n"


def test_an_import_names_the_hidden_characters_of_its_files(alice: Client) -> None:
    """As a write does: how many there are, and the places of the first; the files stay as they are."""
    text = "# Tea\n\nab\u202ecd" + "\U000e0041" * 30
    files = {"plain.md": "می\u200cخواهم", "tea.md": text}

    report = alice.post("/v1/import", content=zipped({n: t.encode() for n, t in files.items()})).json()
    plain = alice.post("/v1/import", content=zipped({"plain.md": b"tea"})).json()

    assert report["hidden_characters"]["count"] == 31
    assert len(report["hidden_characters"]["first"]) == 20
    first = {"path": "user/tea.md", "line": 3, "column": 3, "code_point": "U+202E"}
    assert report["hidden_characters"]["first"][0] == first
    assert run(alice, "memory_read", path="user/tea.md").json()["content"] == text
    assert plain["hidden_characters"] is None


def test_the_reason_of_a_change_keeps_no_secret(alice: Client, served: Any) -> None:
    """The reason is kept in the history and the log alone, so it is redacted, also that of a revert."""
    secret = new_secret()
    reason = f"as {secret} asked"

    written = run(alice, "memory_write", "w-1", path="user/a.md", content="tea", reason=reason).json()
    reverted = alice.post("/v1/operations/w-1/revert", json={"reason": reason}).json()

    assert [one["action"] for one in written["secrets"] + reverted["secrets"]] == ["redacted", "redacted"]
    assert secret not in stored(alice, served)
    assert "as [secret: memex key] asked" in stored(alice, served)
