"""Folders with counts, and files by filters, over HTTP."""

from typing import Any

from httpx2 import Client

FILES = {
    "user/a.md": "# A\n",
    "user/notes/b.md": "---\ntags: [Tea]\npinned: true\n---\n# B\n",
    "user/notes/deep/c.md": "---\ntags: [tea]\n---\n# C\n",
    "user/work/d.md": "# D\n",
}
STATEMENTS = {
    "user/tasks.md": "# Tasks\n",
    "user/tasks-2.md": "# Tasks\n",
    "user/notes.md": "# Notes\n",
    "user/work/tasks.md": "# Of work\n",  # no file of statements: it lies deeper
}


def browse(client: Client, **params: Any) -> dict[str, Any]:
    """Return an answer of the route."""
    answered = client.get("/v1/folders", params=params)
    assert answered.is_success, answered.text
    answer: dict[str, Any] = answered.json()
    return answer


def fill(client: Client) -> None:
    """Write the files, one of them by another actor, and one that is deleted again."""
    for path, content in FILES.items():
        headers = {"Memex-Actor": "scout"} if path == "user/work/d.md" else {}
        assert client.put("/v1/file", params={"path": path}, content=content, headers=headers).is_success
    assert client.put("/v1/file", params={"path": "user/gone/e.md"}, content="# E\n").is_success
    assert client.delete("/v1/file", params={"path": "user/gone/e.md"}, headers={"If-Match": "*"}).is_success


def test_folders_have_counts_and_the_last_change(alice: Client) -> None:
    """Of all that stands below them, those above the prefix too; a folder whose files are deleted is none."""
    fill(alice)

    top, notes, partial, deep = (
        browse(alice, prefix=prefix) for prefix in ("user/", "user/notes/", "user/no", "user/notes/deep/c")
    )

    assert [(one["path"], one["files"]) for one in top["folders"]] == [("user/notes/", 2), ("user/work/", 1)]
    [user] = [one for one in top["mounts"] if one["path"] == "user/"]
    assert user["files"] == len(FILES)
    assert user["updated_at"] > max(file["updated_at"] for file in top["files"]), "a file was deleted last"
    assert top["parents"] == []
    assert [(one["path"], one["files"]) for one in deep["parents"]] == [
        ("user/notes/", 2),
        ("user/notes/deep/", 1),
    ]
    times = {file["path"]: file["updated_at"] for file in top["files"]}
    assert [one["updated_at"] for one in deep["parents"]] == [times["user/notes/deep/c.md"]] * 2
    assert [(one["path"], one["files"]) for one in notes["folders"]] == [("user/notes/deep/", 1)]
    assert partial["folders"] == top["folders"], "the folder that the prefix lies in"


def test_files_are_filtered_and_paged(alice: Client) -> None:
    """By tag in whatever case, by who wrote them, by time and by pin; a cursor goes on after the last path."""
    fill(alice)
    paths = [file["path"] for file in browse(alice)["files"]]
    times = {file["path"]: file["updated_at"] for file in browse(alice)["files"]}

    def found(**params: Any) -> list[str]:
        return [file["path"] for file in browse(alice, **params)["files"]]

    assert paths == sorted(FILES)
    assert found(tag="TEA") == ["user/notes/b.md", "user/notes/deep/c.md"]
    assert found(actor="scout") == ["user/work/d.md"]
    assert found(pinned=True) == ["user/notes/b.md"]
    assert found(since=times["user/notes/deep/c.md"]) == ["user/notes/deep/c.md", "user/work/d.md"]
    assert found(until=times["user/notes/b.md"]) == ["user/a.md"]
    first = browse(alice, limit=3)
    assert [file["path"] for file in first["files"]] == paths[:3]
    assert found(limit=3, cursor=first["next_cursor"]) == paths[3:]


def test_files_are_filtered_by_the_kind_of_their_statements(alice: Client) -> None:
    """By the names under which statements are filed, their successors too; all other files are of no kind."""
    for path, content in (FILES | STATEMENTS).items():
        assert alice.put("/v1/file", params={"path": path}, content=content).is_success

    found = {
        kind: [file["path"] for file in browse(alice, kind=kind)["files"]]
        for kind in ("tasks", "notes", "goals", "other")
    }

    assert found == {
        "tasks": ["user/tasks-2.md", "user/tasks.md"],
        "notes": ["user/notes.md"],
        "goals": [],
        "other": [*sorted({*FILES, "user/work/tasks.md"})],
    }


def test_a_wrong_filter_is_refused(alice: Client) -> None:
    """A time without a zone, a cursor of something else, and a project of others."""
    for params, code in (
        ({"since": "2026-11-22T00:00:00"}, "VALIDATION_ERROR"),
        ({"cursor": "nonsense"}, "VALIDATION_ERROR"),
        ({"prefix": "projects/none/"}, "PROJECT_NOT_FOUND"),
        ({"limit": 1_001}, "VALIDATION_ERROR"),
        ({"kind": "none"}, "VALIDATION_ERROR"),
    ):
        refused = alice.get("/v1/folders", params=params)
        assert refused.json()["code"] == code, params


def test_changes_lead_back(alice: Client) -> None:
    """The newest first, each commit once; the time of one as as_of shows memory right after it."""
    fill(alice)
    batch = [{"kind": "write", "path": f"user/many/{name}.md", "content": "# M\n"} for name in "ab"]
    assert alice.post("/v1/files:batch", json={"edits": batch}).is_success

    changes = alice.get("/v1/changes", params={"limit": 3}).json()["changes"]
    older = alice.get("/v1/changes", params={"until": changes[-1]["at"]}).json()["changes"]
    then = alice.get("/v1/files", params={"as_of": older[0]["at"]}).json()["files"]

    assert [(one["path"], one["files"]) for one in changes] == [
        ("user/many/a.md", 2),
        ("user/gone/e.md", 1),
        ("user/gone/e.md", 1),
    ]
    assert [one["rev"] for one in (*changes, *older)] == [7, 6, 5, 4, 3, 2, 1][: 3 + len(older)]
    assert [one["actor"] for one in older[:1]] == ["scout"]
    assert {one["path"] for one in then} == set(FILES)
    assert alice.get("/v1/changes", params={"limit": 0}).json()["code"] == "VALIDATION_ERROR"


def test_topics_are_tags_with_counts(alice: Client) -> None:
    """Compared without case, written as most files have them, of most files first; no deleted file counts."""
    more = {
        "user/notes/f.md": "---\ntags: [tea, TEA, kettle]\n---\n# F\n",
        "user/g.md": "---\ntags: [kettle, gone]\n---\n# G\n",
    }
    fill(alice)
    for path, content in more.items():
        assert alice.put("/v1/file", params={"path": path}, content=content).is_success
    gone = {"params": {"path": "user/g.md"}, "headers": {"If-Match": "*"}}
    assert alice.delete("/v1/file", **gone).is_success

    topics = alice.get("/v1/topics").json()["topics"]
    first = alice.get("/v1/topics", params={"limit": 1}).json()["topics"]
    catalogue = alice.get("/v1/catalogue").json()["catalogue"]
    hit = alice.post("/v1/tools/memory_find/execute", json={"arguments": {"query": "B"}}).json()["hits"][0]
    times = {file["path"]: file["updated_at"] for file in browse(alice)["files"]}

    assert [(one["tag"], one["files"]) for one in topics] == [("tea", 3), ("kettle", 1)]
    assert topics[0]["updated_at"] == times["user/notes/f.md"]
    assert first == topics[:1]
    assert catalogue.splitlines()[-1] == "Tags: #tea 3, #kettle 1"
    assert (hit["tags"], hit["updated_at"]) == (["Tea"], times["user/notes/b.md"])
    assert alice.get("/v1/topics", params={"project": "none"}).json()["code"] == "PROJECT_NOT_FOUND"


def test_an_administrator_who_names_a_user_sees_what_this_user_reads(alice: Client, root: Client) -> None:
    """Projects and tags of others are listed without a user, or where the prefix asks for the project."""
    for slug in ("apollo", "zeus"):
        assert root.put(f"/v1/admin/projects/{slug}").is_success
        text = f"---\ntags: [of-{slug}]\n---\n# {slug}\n"
        body = {"arguments": {"path": f"projects/{slug}/a.md", "content": text}}
        assert root.post("/v1/admin/tools/memory_write/execute", json=body).is_success
    assert root.put("/v1/admin/projects/apollo/members/alice").is_success
    as_alice = {"Memex-User": "alice"}

    def listed(headers: dict[str, str], **params: str) -> tuple[set[str], set[str], set[str]]:
        found = root.get("/v1/admin/folders", params=params, headers=headers).json()
        tags = root.get("/v1/admin/topics", headers=headers).json()["topics"]
        return (
            {one["path"] for one in found["mounts"] if one["path"].startswith("projects/")},
            {file["path"] for file in found["files"]},
            {one["tag"] for one in tags},
        )

    apollo, zeus = "projects/apollo/", "projects/zeus/"
    assert listed(as_alice) == ({apollo}, {f"{apollo}a.md"}, {"of-apollo"})
    assert listed({}) == ({apollo, zeus}, {f"{apollo}a.md", f"{zeus}a.md"}, {"of-apollo", "of-zeus"})
    assert listed(as_alice, prefix=zeus)[:2] == ({apollo, zeus}, {f"{zeus}a.md"})
