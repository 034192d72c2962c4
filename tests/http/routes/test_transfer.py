"""Import and export over HTTP: a zip in, a zip out, and what hostile zips get."""

import time
import zipfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest
from httpx2 import Client
from tests.kit.zips import exported, zipped

MIB = 1 << 20
NOTES: Mapping[str, bytes] = {
    "index.md": b"\xef\xbb\xbf# Index\r\n\r\n[[tea]]\r\n",
    "Daily/tea.md": "# Tea 🍵".encode(),
    "empty.md": b"",
}


def test_a_vault_comes_back_byte_for_byte(alice: Client) -> None:
    """Imported below a folder, exported from it, whole, and imported again without a change."""
    headers = {"Content-Type": "application/zip", "Memex-Tool-Call-Id": "the-vault"}
    taken = alice.post("/v1/import", params={"into": "user/v"}, content=zipped(NOTES), headers=headers)
    given = alice.get("/v1/export", params={"from": "user/v"})
    everything = alice.get("/v1/export")
    again = alice.post("/v1/import", content=everything.content)

    assert taken.json()["calls"] == ["the-vault.1"]
    assert taken.json()["counts"]["created"] == len(NOTES)
    assert given.headers["content-type"] == "application/zip"
    assert given.headers["content-length"] == str(len(given.content))
    assert exported(given.content) == NOTES
    assert exported(everything.content) == {f"user/v/{name}": content for name, content in NOTES.items()}
    assert again.json()["counts"]["unchanged"] == len(NOTES)


def test_a_batch_is_reverted_by_its_id(alice: Client) -> None:
    """Each id in `calls` names a call of the log."""
    [call] = alice.post("/v1/import", content=zipped(NOTES)).json()["calls"]

    assert alice.post(f"/v1/operations/{call}/revert").is_success
    assert alice.get("/v1/files").json()["files"] == []


def test_a_dry_run_writes_nothing(alice: Client) -> None:
    """It answers what would happen."""
    foreseen = alice.post("/v1/import", params={"dry_run": True}, content=zipped(NOTES)).json()

    assert (foreseen["dry_run"], foreseen["counts"]["created"]) == (True, len(NOTES))
    assert alice.get("/v1/files").json()["files"] == []


def test_what_is_refused_has_a_code(alice: Client) -> None:
    """And a sentence, in an answer that is a success for the rest."""
    bad = {"latin.md": b"caf\xe9", "../up.md": b"x", "bidi\u202e.md": b"x", "a.png": b"x", ".git/x.md": b"x"}

    taken = alice.post("/v1/import", content=zipped({**NOTES, **bad}))

    assert taken.status_code == 200
    assert {one["path"]: one["code"] for one in taken.json()["refused"]} == {
        "../up.md": "INVALID_PATH",
        "bidi\u202e.md": "INVALID_PATH",
        "latin.md": "VALIDATION_ERROR",
    }
    assert taken.json()["skipped"] == ["a.png"]
    assert taken.json()["counts"] == {
        "created": 3,
        "updated": 0,
        "unchanged": 0,
        "refused": 3,
        "skipped": 1,
        "hidden": 1,
        "kept": 0,
        "projects": 0,
        "secrets": 0,
        "forgotten": 0,
    }
    assert taken.json()["hidden"] == [".git"]


BODIES: dict[str, tuple[Callable[[], bytes], int, str]] = {
    "empty": (lambda: b"", 422, "VALIDATION_ERROR"),
    "no zip": (lambda: b"# Markdown", 422, "VALIDATION_ERROR"),
    "no member": (lambda: zipped({}), 422, "VALIDATION_ERROR"),
    "no Markdown": (lambda: zipped({"a.txt": b"x"}), 422, "VALIDATION_ERROR"),
    "bomb": (lambda: zipped({f"{at}.md": b"\n" * MIB for at in range(257)}), 422, "LIMIT_EXCEEDED"),
    "100,000 members": (
        lambda: zipped(dict.fromkeys(map(str, range(100_000)), b""), zipfile.ZIP_STORED),
        422,
        "LIMIT_EXCEEDED",
    ),
    "16 MiB": (lambda: b"x" * (16 * MIB + 1), 413, "FILE_TOO_LARGE"),
}


@pytest.mark.parametrize(
    "what",
    [pytest.param(what, marks=pytest.mark.slow if what.startswith("100,000") else ()) for what in BODIES],
)
def test_a_body_that_cannot_be_taken_is_a_problem(alice: Client, what: str) -> None:
    """Whatever a zip claims, the answer is a problem, and soon."""
    make_body, status, code = BODIES[what]
    body = make_body()
    started_s = time.perf_counter()

    refused = alice.post("/v1/import", content=body)

    assert (refused.status_code, refused.json()["code"]) == (status, code)
    assert time.perf_counter() - started_s < 15


@pytest.mark.slow
def test_the_service_answers_while_a_zip_is_read(alice: Client) -> None:
    """Unpacking is done off the event loop: a bomb's size is no other caller's wait."""
    body = zipped({f"{at:03}.md": bytes([65 + at % 26]) * MIB for at in range(12)})
    waits_s = []
    started_s = time.perf_counter()
    with ThreadPoolExecutor(1) as pool:
        importing = pool.submit(alice.post, "/v1/import", params={"dry_run": True}, content=body, timeout=120)
        while not importing.done():
            asked_s = time.perf_counter()
            assert alice.get("/health/live").is_success
            waits_s.append(time.perf_counter() - asked_s)
    took_s = time.perf_counter() - started_s

    assert importing.result().json()["counts"]["created"] == 12
    assert max(waits_s) < took_s / 2


def test_what_memory_has_newer_is_kept(alice: Client) -> None:
    """It is named with its version; `replace` replaces it, and the id of the import undoes it all."""
    alice.put("/v1/file", params={"path": "user/a.md"}, content="old")
    archive = alice.get("/v1/export").content
    alice.put("/v1/file", params={"path": "user/a.md"}, content="new", headers={"If-Match": "*"})

    kept = alice.post("/v1/import", content=archive).json()
    replaced = alice.post("/v1/import", params={"replace": True}, content=archive).json()
    undone = alice.post(f"/v1/operations/{replaced['tool_call_id']}/revert").json()

    assert [(one["path"], one["version"], one["code"]) for one in kept["kept"]] == [
        ("user/a.md", 2, "VERSION_CONFLICT")
    ]
    assert (kept["calls"], replaced["updated"], replaced["kept"]) == ([], ["user/a.md"], [])
    assert [write["path"] for write in undone["writes"]] == ["user/a.md"]
    assert alice.get("/v1/file", params={"path": "user/a.md"}).json()["content"] == "new"


def test_an_admin_exports_what_the_user_may_read(root: Client, client_of: Callable[..., Client]) -> None:
    """Not the projects of others, unless they are asked for; what goes back leaves projects alone likewise."""
    for slug, member in (("apollo", "alice"), ("gemini", "bob")):
        root.put(f"/v1/admin/projects/{slug}")
        root.put(f"/v1/admin/projects/{slug}/members/{member}")
        bound = client_of("agent", bound_to=member)
        bound.put("/v1/file", params={"path": f"projects/{slug}/plan.md"}, content=slug)
    alice = {"Memex-User": "alice"}

    hers = root.get("/v1/admin/export", headers=alice)
    all_of_them = root.get("/v1/admin/export", params={"all_projects": True}, headers=alice)
    by_agent = client_of("agent", bound_to="alice").get("/v1/export", params={"all_projects": True})
    back = root.post("/v1/admin/import", content=all_of_them.content, headers=alice)
    asked = root.post(
        "/v1/admin/import", params={"projects": True}, content=all_of_them.content, headers=alice
    )

    plans = {f"projects/{slug}/plan.md": slug.encode() for slug in ("apollo", "gemini")}
    assert exported(hers.content) == {"projects/apollo/plan.md": b"apollo"}
    assert exported(all_of_them.content) == plans
    assert by_agent.json()["code"] == "FORBIDDEN"
    assert (back.json()["projects"], back.json()["counts"]["unchanged"]) == (sorted(plans), 0)
    assert (asked.json()["projects"], asked.json()["counts"]["unchanged"]) == ([], 2)
