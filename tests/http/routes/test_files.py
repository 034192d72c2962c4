"""Files as resources: ETags, raw Markdown, pages, versions, and the limits of a body."""

import hashlib
import socket
import time
import tracemalloc
from typing import Any

import pytest
from httpx2 import Client, Response

MIB = 1 << 20
PATH = {"path": "user/a.md"}


def put(client: Client, content: bytes | str, path: str = "user/a.md", **headers: str) -> Response:
    """Write a file's whole text."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.put("/v1/file", params={"path": path}, content=content, headers=named)


def test_an_etag_is_the_version_and_guards_a_write(alice: Client) -> None:
    """Read, change, write with If-Match: the second of two writers gets 412 and the current version."""
    created = put(alice, "one")
    read = alice.get("/v1/file", params=PATH)

    first = put(alice, "two", If_Match=read.headers["etag"])
    second = put(alice, "three", If_Match=read.headers["etag"])

    assert created.headers["etag"] == read.headers["etag"] == '"1"'
    assert first.headers["etag"] == '"2"'
    assert (second.status_code, second.json()["code"]) == (412, "VERSION_CONFLICT")
    assert second.json()["current_version"] == 2
    assert alice.get("/v1/file", params=PATH).json()["content"] == "two"


@pytest.mark.parametrize("method", ["PATCH", "DELETE", "move", "restore"])
def test_if_match_guards_every_change(alice: Client, method: str) -> None:
    """A stale version changes nothing on any route; the current one and * do."""
    put(alice, "one")
    put(alice, "two", If_Match='"1"')
    bodies: dict[str, Any] = {
        "PATCH": {"operation": "append", "text": "more"},
        "move": {"to": "user/b.md"},
        "restore": {"version": 1},
    }

    def change(if_match: str) -> Response:
        verb, url = (method, "/v1/file") if method.isupper() else ("POST", f"/v1/file/{method}")
        return alice.request(verb, url, params=PATH, json=bodies.get(method), headers={"If-Match": if_match})

    assert change('"1"').status_code == 412
    assert change('"7"').status_code == 412
    assert change("one").json()["code"] == "VALIDATION_ERROR"
    assert alice.get("/v1/file", params=PATH).json()["content"] == "two"
    assert change('"2"').is_success


def test_a_star_replaces_any_version(alice: Client) -> None:
    """If-Match: * asks for no version in particular."""
    put(alice, "one")

    replaced = put(alice, "two", If_Match="*")

    assert replaced.json()["replaced_version"] == 1


def test_a_file_is_created_only_where_none_stands(alice: Client) -> None:
    """Without a precondition, or with If-None-Match: *, an existing file is left alone."""
    assert put(alice, "one", If_None_Match="*").is_success

    assert put(alice, "two").json()["code"] == "FILE_EXISTS"
    assert put(alice, "two", If_None_Match="*").json()["code"] == "FILE_EXISTS"
    assert put(alice, "two", If_None_Match='"1"').json()["code"] == "VALIDATION_ERROR"
    assert put(alice, "two", If_None_Match="*", If_Match="*").json()["code"] == "VALIDATION_ERROR"
    assert put(alice, "two", "user/none.md", If_Match='"1"').json()["code"] == "FILE_NOT_FOUND"
    assert alice.get("/v1/file", params=PATH).json()["content"] == "one"


def test_a_known_version_is_not_sent_again(alice: Client) -> None:
    """If-None-Match with the version that stands gives 304, its ETag and no body."""
    for if_none_match, status in (
        ('"1"', 304),
        ('W/"1"', 304),
        ('"7", "1"', 304),
        ("*", 304),
        ('"2"', 200),
        ("1", 200),
        ("", 200),
    ):
        put(alice, "one")

        read = alice.get("/v1/file", params=PATH, headers={"If-None-Match": if_none_match})

        assert read.status_code == status
        assert read.headers["etag"] == '"1"'
        assert (read.content == b"") == (status == 304)


TEXTS: dict[str, bytes] = {
    "empty": b"",
    "CRLF": b"# Title\r\n\r\nline\r\n",
    "no ending": b"line",
    "BOM": b"\xef\xbb\xbf# Title\n",
    "beyond the BMP": "🦊 é e\u0301 \u2028 \u0085".encode(),
    "control characters": bytes(range(1, 32)),
    "a million bytes and more": b"x" * MIB,
    "a MiB of two-byte characters": "é".encode() * (MIB // 2),
    "one long fence": b"```\n" * 1000,
}


@pytest.mark.parametrize(
    "what",
    [pytest.param(what, marks=pytest.mark.slow if len(TEXTS[what]) >= MIB else ()) for what in TEXTS],
)
def test_a_text_comes_back_byte_for_byte(alice: Client, what: str) -> None:
    """Nothing of a file is normalised, trimmed or added to."""
    written = put(alice, TEXTS[what])

    bare = alice.get("/v1/file", params=PATH, headers={"Accept": "text/markdown"})
    as_json = alice.get("/v1/file", params=PATH)

    assert bare.content == TEXTS[what]
    assert bare.headers["content-type"] == "text/markdown; charset=utf-8"
    assert bare.headers["etag"] == as_json.headers["etag"] == '"1"'
    assert "Accept" in bare.headers["vary"]
    assert as_json.json()["content"].encode() == TEXTS[what]
    assert written.json()["sha256"] == as_json.json()["sha256"] == hashlib.sha256(TEXTS[what]).hexdigest()


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        pytest.param(b"x" * (MIB + 1), 413, "FILE_TOO_LARGE", marks=pytest.mark.slow),
        ("é".encode() * (MIB // 2) + b"x", 413, "FILE_TOO_LARGE"),
        (b"\xff", 422, "VALIDATION_ERROR"),
        (b"\xed\xa0\x80", 422, "VALIDATION_ERROR"),
        (b"a\x00b", 422, "VALIDATION_ERROR"),
        ("utf-16".encode("utf-16"), 422, "VALIDATION_ERROR"),
    ],
    ids=["1 MiB + 1", "1 MiB + 1 in two-byte characters", "no UTF-8", "a surrogate", "a NUL", "UTF-16"],
)
def test_a_body_that_is_no_text_of_1_mib_is_refused(
    alice: Client, content: bytes, status: int, code: str
) -> None:
    """The limit is in bytes, and what Postgres or UTF-8 cannot hold never gets there."""
    refused = put(alice, content)

    assert (refused.status_code, refused.json()["code"]) == (status, code)
    assert alice.get("/v1/file", params=PATH).json()["code"] == "FILE_NOT_FOUND"


@pytest.mark.parametrize("url", ["/v1/file?path=user/a.md", "/v1/tools/memory_write/execute"])
@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_body_over_the_bound_is_refused_before_it_is_read(
    served: Any, alice: Client, url: str, is_chunked: bool
) -> None:
    """64 MiB are refused after 16 at most, whether their length was declared or not."""

    def chunks() -> Any:
        for _ in range(64):
            yield b" " * MIB

    method = "PUT" if "file" in url else "POST"
    headers = {"Content-Type": "application/json"} | ({} if is_chunked else {"Content-Length": str(64 * MIB)})
    tracemalloc.start()
    try:
        refused = alice.request(method, url, content=chunks(), headers=headers)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert (refused.status_code, refused.json()["code"]) == (413, "FILE_TOO_LARGE")
    assert peak_bytes < 48 * MIB  # of server and client together
    assert alice.get("/v1/files").is_success


def test_slow_and_broken_clients_hold_up_nobody(served: Any, alice: Client) -> None:
    """While fifty requests stand half sent, and others break off, a reader is served."""
    port = int(served.url.rpartition(":")[2])
    key = alice.headers["authorization"]
    head = f"PUT /v1/file?path=user/slow.md HTTP/1.1\r\nHost: x\r\nAuthorization: {key}\r\n".encode()
    slow = []
    for n in range(50):
        connection = socket.create_connection(("127.0.0.1", port), timeout=10)
        connection.sendall(head if n % 2 else head + b"Content-Length: 100\r\n\r\nhalf")
        slow.append(connection)

    started_s = time.perf_counter()
    assert put(alice, "one").is_success
    assert alice.get("/v1/file", params=PATH).json()["content"] == "one"
    assert time.perf_counter() - started_s < 5

    for connection in slow:
        connection.close()
    assert alice.get("/v1/file", params={"path": "user/slow.md"}).json()["code"] == "FILE_NOT_FOUND"


def test_pages_hold_every_file_once_over_three_mounts(alice: Client, root: Client) -> None:
    """A hundred files in a project, shared/ and user/, in pages of any size: by path, none twice or missing."""
    root.put("/v1/admin/projects/apollo")
    root.put("/v1/admin/projects/apollo/members/alice")
    paths = [f"projects/apollo/{n:03}.md" for n in range(20)] + [f"shared/{n:03}.md" for n in range(20)]
    own = [f"user/{name}/{n:03}.md" for name in ("A b", "a", "é", "🦊") for n in range(15)]
    for path in paths:
        call = {"path": path, "content": "x"}
        assert root.post("/v1/admin/tools/memory_write/execute", json={"arguments": call}).is_success
    for path in own:
        assert put(alice, "x", path).is_success

    for limit in (1_000, 100, 99, 20, 7):
        pages = list(_pages(alice, "/v1/files", "files", limit=limit))
        assert [file["path"] for page in pages for file in page] == paths + own
        assert all(len(page) == limit for page in pages[:-1])
    folder = list(_pages(alice, "/v1/files", "files", limit=10, prefix="user/A b/"))
    assert [file["path"] for page in folder for file in page] == own[:15]


def test_the_versions_of_a_file_are_listed_compared_and_restored(alice: Client) -> None:
    """History in pages, diff of any two, an earlier text put back as the next version."""
    put(alice, "line 1\n")
    for n in range(2, 7):
        alice.patch(
            "/v1/file", params=PATH, json={"operation": "append", "text": f"line {n}", "reason": f"r{n}"}
        )

    pages = list(_pages(alice, "/v1/revisions", "revisions", limit=4, **PATH))
    latest = alice.get("/v1/diff", params=PATH).json()
    chosen = alice.get("/v1/diff", params={**PATH, "from_version": 2, "to_version": 5}).json()
    from_nothing = alice.get("/v1/diff", params={**PATH, "from_version": 0, "to_version": 1}).json()
    restored = alice.post("/v1/file/restore", params=PATH, json={"version": 2, "reason": "too much"}).json()
    earlier = alice.get("/v1/file", params={**PATH, "version": 5})

    revisions = [revision for page in pages for revision in page]
    assert [revision["version"] for revision in revisions] == [6, 5, 4, 3, 2, 1]
    assert [len(page) for page in pages] == [4, 2]
    assert [revision["reason"] for revision in revisions] == ["r6", "r5", "r4", "r3", "r2", None]
    assert (latest["from_version"], latest["to_version"]) == (5, 6)
    assert latest["diff"].endswith("+line 6\n")
    assert chosen["diff"].startswith("--- user/a.md@2\n+++ user/a.md@5\n")
    assert chosen["diff"].endswith("+line 3\n+line 4\n+line 5\n")
    assert from_nothing["diff"].startswith("--- /dev/null\n")
    assert restored["version"] == 7
    assert alice.get("/v1/file", params=PATH).json()["content"] == "line 1\nline 2\n"
    assert earlier.headers["etag"] == '"5"'
    assert alice.get("/v1/file", params={**PATH, "version": 99}).json()["code"] == "VERSION_NOT_FOUND"
    assert alice.get("/v1/diff", params={**PATH, "to_version": 99}).json()["code"] == "VERSION_NOT_FOUND"
    assert alice.get("/v1/revisions", params={"path": "user/no.md"}).json()["code"] == "FILE_NOT_FOUND"


def test_a_deleted_file_is_gone_and_can_be_put_back(alice: Client) -> None:
    """A delete is a version; the text before it stands again when it is restored."""
    put(alice, "one")

    deleted = alice.delete("/v1/file", params={**PATH, "reason": "old"}).json()

    assert deleted["version"] == 2
    assert alice.get("/v1/file", params=PATH).json()["code"] == "FILE_NOT_FOUND"
    assert alice.get("/v1/revisions", params=PATH).json()["revisions"][0]["deleted"]
    assert alice.post("/v1/file/restore", params=PATH, json={"version": 1}).json()["version"] == 3
    assert alice.get("/v1/file", params=PATH).json()["content"] == "one"


def test_links_are_followed_both_ways(alice: Client) -> None:
    """Out of a file, into it, over hops; a link to nothing says so."""
    put(alice, "See [[b]] and [[nowhere#Here]].", "user/a.md")
    put(alice, "See [c](c.md#Part).", "user/b.md")
    put(alice, "The end.", "user/c.md")

    out = alice.get("/v1/links", params={**PATH, "direction": "out", "depth": 2}).json()["links"]
    into = alice.get("/v1/links", params={"path": "user/c.md", "direction": "in", "depth": 2}).json()["links"]

    assert [(link["target"], link["exists"], link["hop"]) for link in out] == [
        ("user/b.md", True, 1),
        ("[[nowhere#Here]]", False, 1),
        ("user/c.md", True, 2),
    ]
    assert [(link["source"], link["hop"]) for link in into] == [("user/b.md", 1), ("user/a.md", 2)]


def test_a_section_is_read_alone(alice: Client) -> None:
    """By its heading; the answer says where in the file it stands."""
    content = "# Tea\n\n## Green\n\nSencha.\n\n## Black\n\nAssam.\n"
    put(alice, content)

    read = alice.get("/v1/file", params={**PATH, "heading": "Green"}).json()

    assert read["content"] == content[slice(*read["span"].values())]
    assert read["content"].startswith("## Green\n\nSencha.")
    assert "Assam" not in read["content"]


def test_the_catalogue_is_bounded(alice: Client) -> None:
    """A line a file with title, size and tags, then the tags; never longer than asked."""
    for n in range(30):
        put(alice, f"---\ntags: [tea]\n---\n# Title {n}\n", f"user/{n:02}.md")

    whole = alice.get("/v1/catalogue").json()["catalogue"]
    short = alice.get("/v1/catalogue", params={"max_chars": 300}).json()["catalogue"]

    assert whole.count("\n- ") == 29
    assert whole.endswith("Tags: #tea 30\n")
    assert "user/07.md" in whole
    assert "Title 7" in whole
    assert "#tea" in whole
    assert len(short) <= 300
    assert "more: list or find them" in short


def test_another_method_is_told_what_the_path_takes(alice: Client) -> None:
    """405 with every method of the path in Allow; HEAD without a body."""
    for method, url, allowed in (
        ("HEAD", "/v1/file", "DELETE, GET, PATCH, PUT"),
        ("OPTIONS", "/v1/file", "DELETE, GET, PATCH, PUT"),
        ("POST", "/v1/file", "DELETE, GET, PATCH, PUT"),
        ("TRACE", "/v1/files", "GET"),
        ("PROPFIND", "/health/live", "GET"),
        ("GET", "/v1/tools/memory_find/execute", "POST"),
        ("GET", "/v1/admin/projects/apollo/members/alice", "DELETE, PUT"),
    ):
        refused = alice.request(method, url)

        assert (refused.status_code, refused.headers["allow"]) == (405, allowed)
        assert (refused.content == b"") == (method == "HEAD")


def _pages(client: Client, url: str, field: str, **params: Any) -> Any:
    cursor: str | None = None
    while True:
        body = client.get(url, params={**params, **({"cursor": cursor} if cursor else {})}).json()
        yield body[field]
        cursor = body["next_cursor"]
        if cursor is None:
            return


def test_files_are_read_as_they_stood(alice: Client) -> None:
    """File, list and links take a time or a state as JSON; the ETag is the version of then."""
    put(alice, "[[b]]")
    time_then = alice.get("/v1/file", params=PATH).json()["updated_at"]
    put(alice, "changed", If_Match='"1"')
    put(alice, "new", "user/b.md")

    for as_of in (time_then, '{"user": 1}'):
        moment = {"as_of": as_of}
        read = alice.get("/v1/file", params=PATH | moment)
        known = alice.get("/v1/file", params=PATH | moment, headers={"If-None-Match": '"1"'})
        listed = alice.get("/v1/files", params=moment).json()["files"]
        links = alice.get("/v1/links", params=PATH | moment).json()["links"]

        assert (read.json()["content"], read.headers["etag"], known.status_code) == ("[[b]]", '"1"', 304)
        assert [(file["path"], file["version"]) for file in listed] == [("user/a.md", 1)]
        assert [(link["target"], link["exists"]) for link in links] == [("[[b]]", False)]
    absent = alice.get("/v1/file", params={"path": "user/b.md", "as_of": '{"user": 1}'})
    refused = alice.get("/v1/files", params={"as_of": "2026-11-22 10:00"})
    assert absent.json()["code"] == "FILE_NOT_FOUND"
    assert (refused.status_code, refused.json()["code"]) == (422, "VALIDATION_ERROR")
    assert "2026-11-22T09:30:00Z" in refused.json()["hint"]
