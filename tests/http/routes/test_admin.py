"""The admin routes: projects, members, users, and writing shared/."""

from collections.abc import Callable
from typing import Any

from httpx2 import Client, Response

ClientOf = Callable[..., Client]


def write(admin: Client, path: str, content: str = "tea", **context: Any) -> Response:
    """Write a file as an admin."""
    call = {"context": context, "arguments": {"path": path, "content": content}}
    return admin.post("/v1/admin/tools/memory_write/execute", json=call)


def test_a_project_is_opened_closed_and_opened_again(root: Client, alice: Client) -> None:
    """Closing hides the files and ends the memberships; opening again brings back the files alone."""
    made = root.put("/v1/admin/projects/apollo")
    again = root.put("/v1/admin/projects/apollo")
    root.put("/v1/admin/projects/apollo/members/alice")
    plan = {"path": "projects/apollo/plan.md"}
    alice.put("/v1/file", params=plan, content="land")

    closed = root.delete("/v1/admin/projects/apollo")
    while_closed = alice.get("/v1/file", params=plan)
    closed_twice = root.delete("/v1/admin/projects/apollo")
    reopened = root.put("/v1/admin/projects/apollo")
    before_joining = alice.get("/v1/file", params=plan)
    root.put("/v1/admin/projects/apollo/members/alice")

    assert (made.status_code, made.json()) == (201, {"slug": "apollo", "created": True})
    assert (again.status_code, again.json()) == (200, {"slug": "apollo", "created": False})
    assert closed.json() == {"slug": "apollo", "closed": True}
    assert while_closed.json()["code"] == "PROJECT_NOT_FOUND"
    assert closed_twice.json()["code"] == "PROJECT_NOT_FOUND"
    assert (reopened.status_code, reopened.json()["created"]) == (200, False)
    assert before_joining.json()["code"] == "PROJECT_NOT_FOUND"
    assert alice.get("/v1/file", params=plan).json()["content"] == "land"


def test_members_come_and_go(root: Client, alice: Client, bob: Client) -> None:
    """A member reads and writes; who is none is told what a stranger is."""
    root.put("/v1/admin/projects/apollo")
    plan = {"path": "projects/apollo/plan.md"}

    joined = root.put("/v1/admin/projects/apollo/members/alice").json()
    joined_again = root.put("/v1/admin/projects/apollo/members/alice").json()
    written = alice.put("/v1/file", params=plan, content="land")
    by_another = bob.get("/v1/file", params=plan)
    of_nothing = bob.get("/v1/file", params={"path": "projects/nothing/plan.md"})
    left = root.delete("/v1/admin/projects/apollo/members/alice").json()
    left_again = root.delete("/v1/admin/projects/apollo/members/alice").json()

    assert joined == {"slug": "apollo", "user": "alice", "member": True, "changed": True}
    assert joined_again == joined | {"changed": False}
    assert written.is_success
    assert by_another.json()["detail"].replace("apollo", "nothing") == of_nothing.json()["detail"]
    assert left == {"slug": "apollo", "user": "alice", "member": False, "changed": True}
    assert left_again == left | {"changed": False}
    assert alice.get("/v1/file", params=plan).json()["code"] == "PROJECT_NOT_FOUND"
    assert alice.get("/v1/files").json()["files"] == []
    assert root.put("/v1/admin/projects/nothing/members/alice").json()["code"] == "PROJECT_NOT_FOUND"


def test_projects_are_listed_with_their_members(root: Client) -> None:
    """By slug, open ones only, with how many files each holds."""
    for slug in ("gemini", "apollo", "closed"):
        root.put(f"/v1/admin/projects/{slug}")
    root.delete("/v1/admin/projects/closed")
    for user in ("bob", "alice"):
        root.put(f"/v1/admin/projects/gemini/members/{user}")
    write(root, "projects/gemini/plan.md")

    projects = root.get("/v1/admin/projects").json()["projects"]

    assert [(one["slug"], one["files"], one["members"]) for one in projects] == [
        ("apollo", 0, []),
        ("gemini", 1, ["alice", "bob"]),
    ]


def test_a_slug_is_one_clean_segment(root: Client) -> None:
    """Anything that a path could not hold is refused; spaces within, dots and emoji are data."""
    for slug in ("..%20", "%20a", "a.", "a%5Cb", "%E2%80%8B", "x" * 201, "%00", "e%CC%81", "."):
        refused = root.put(f"/v1/admin/projects/{slug.replace('.', '%2E')}")
        assert refused.json()["code"] in {"VALIDATION_ERROR", "INVALID_ID", "UNKNOWN_ROUTE"}, slug

    for slug in ("a b", "2026.q1", "%", "_", "🦊", "Apollo", "apollo", "members"):
        quoted = "".join(f"%{byte:02X}" for byte in slug.encode())
        assert root.put(f"/v1/admin/projects/{quoted}").json() == {"slug": slug, "created": True}
        assert write(root, f"projects/{slug}/a.md").is_success


def test_member_ids_are_data(root: Client, client_of: ClientOf) -> None:
    """Slashes, percent signs and dots in a user's id neither move the route nor meet another id."""
    root.put("/v1/admin/projects/apollo")
    users = [
        "a/b",
        "a%2Fb",
        "members/x",
        "%",
        "_",
        "..x",
        "Alice",
        "alice",
        "é",
        "🦊",
        "' or 1=1 --",
    ]
    for user in users:
        quoted = "".join(f"%{byte:02X}" for byte in user.encode())
        answered = root.put(f"/v1/admin/projects/apollo/members/{quoted}").json()
        assert (answered["user"], answered["changed"]) == (user, True)

    assert sorted(root.get("/v1/admin/projects").json()["projects"][0]["members"]) == sorted(users)
    assert client_of(user="a/b", project="apollo").get("/v1/files").is_success
    assert client_of(user="a", project="apollo").get("/v1/files").json()["code"] == "PROJECT_NOT_FOUND"


def test_shared_is_written_by_admins_and_read_by_agents(
    root: Client, alice: Client, client_of: ClientOf
) -> None:
    """At once, by every agent of the tenant, and by none of another."""
    guide = {"path": "shared/guide.md"}
    assert write(root, "shared/guide.md", "# Oolong\n").is_success

    read = alice.get("/v1/file", params=guide)
    found = alice.post("/v1/tools/memory_find/execute", json={"arguments": {"query": "oolong"}}).json()
    refused = [
        alice.put("/v1/file", params=guide, content="mine", headers={"If-Match": "*"}),
        alice.put("/v1/file", params={"path": "shared/new.md"}, content="mine"),
        alice.patch("/v1/file", params=guide, json={"operation": "append", "text": "mine"}),
        alice.delete("/v1/file", params=guide),
        alice.post("/v1/file/move", params=guide, json={"to": "user/guide.md"}),
        alice.post("/v1/file/restore", params=guide, json={"version": 1}),
    ]
    alice.put("/v1/file", params={"path": "user/a.md"}, content="mine")
    refused.append(alice.post("/v1/file/move", params={"path": "user/a.md"}, json={"to": "shared/a.md"}))

    assert read.json()["content"] == "# Oolong\n"
    assert [hit["path"] for hit in found["hits"]] == ["shared/guide.md"]
    assert {(one.status_code, one.json()["code"]) for one in refused} == {(403, "READ_ONLY_MOUNT")}
    assert alice.get("/v1/revisions", params=guide).json()["revisions"][0]["channel"] == "admin"
    theirs = client_of("agent", bound_to="alice", tenant="theirs")
    assert theirs.get("/v1/file", params=guide).json()["code"] == "FILE_NOT_FOUND"


def test_an_admin_names_the_user_whose_files_it_touches(root: Client, alice: Client) -> None:
    """user/ is nobody's until a user is named."""
    alice.put("/v1/file", params={"path": "user/a.md"}, content="tea")

    unnamed = write(root, "user/a.md")
    named = root.post(
        "/v1/admin/tools/memory_read/execute",
        json={"context": {"userId": "alice"}, "arguments": {"path": "user/a.md"}},
    )

    assert unnamed.json()["code"] == "VALIDATION_ERROR"
    assert "userId" in unnamed.json()["hint"]
    assert named.json()["content"] == "tea"


def test_users_are_listed_in_pages(root: Client, client_of: ClientOf) -> None:
    """Every user who called once, by id, each with how many files it has."""
    backend = client_of("agent")
    users = sorted(["alice", "Bob", "a/b", "é", "🦊", "%", "_", "zoe", "x" * 200])
    for user in users:
        headers = {"Memex-User": user.encode()}
        assert backend.put("/v1/file", params={"path": "user/a.md"}, content="x", headers=headers).is_success

    listed: list[dict[str, Any]] = []
    params: dict[str, Any] = {"limit": 2}
    while True:
        page = root.get("/v1/admin/users", params=params).json()
        listed += page["users"]
        if page["next_cursor"] is None:
            break
        params["cursor"] = page["next_cursor"]

    assert [user["user"] for user in listed] == users
    assert {user["files"] for user in listed} == {1}


def test_users_are_listed_with_their_last_call(root: Client, client_of: ClientOf) -> None:
    """By an agent, or by an admin for the user; what an admin does for nobody is no call of a user."""
    backend = client_of("agent")

    def last_calls() -> dict[str, str]:
        return {user["user"]: user["last_call_at"] for user in root.get("/v1/admin/users").json()["users"]}

    for user in ("alice", "bob"):
        place = {"path": "user/a.md"}
        assert backend.put("/v1/file", params=place, content="a", headers={"Memex-User": user}).is_success
    first = last_calls()
    assert root.get("/v1/admin/prompt-block", headers={"Memex-User": "alice"}).is_success
    second = last_calls()
    assert backend.get("/v1/files", headers={"Memex-User": "bob"}).is_success
    third = last_calls()

    assert first["alice"] < first["bob"] < second["alice"] < third["bob"]
    assert (second["bob"], third["alice"]) == (first["bob"], second["alice"])


def test_a_user_is_found_and_shown(root: Client, client_of: ClientOf) -> None:
    """By a part of the id, in whatever case; with what it stores, its quota and its projects."""
    for user in ("Alice", "malice", "bob", "50%"):
        client_of("agent", bound_to=user).put("/v1/file", params={"path": "user/a.md"}, content="für dich")
    root.put("/v1/admin/projects/apollo")
    root.put("/v1/admin/projects/apollo/members/Alice")
    root.put("/v1/admin/quotas", params={"kind": "user", "name": "Alice"}, json={"files": 5})

    def found(query: str) -> list[str]:
        listed = root.get("/v1/admin/users", params={"query": query}).json()["users"]
        return [user["user"] for user in listed]

    assert [found(query) for query in ("ALICE", "%", "_", "")] == [
        ["Alice", "malice"],
        ["50%"],
        [],
        ["50%", "Alice", "bob", "malice"],
    ]
    shown = root.get("/v1/admin/users/Alice").json()
    assert (shown["activity"]["files"], shown["activity"]["bytes"], shown["activity"]["calls"]) == (1, 9, 1)
    assert (shown["quota"]["limits"]["files"], shown["projects"]) == (5, ["apollo"])
    nobody = root.get("/v1/admin/users/nobody/yet").json()
    assert (nobody["user"], nobody["activity"], nobody["quota"]["used"]) == ("nobody/yet", None, None)
