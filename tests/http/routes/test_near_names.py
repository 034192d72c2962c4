"""A mistyped path: the hint names near files, of the caller's own memory alone."""

from collections.abc import Callable

import pytest
from httpx2 import Client, Response


@pytest.fixture
def backend(client_of: Callable[..., Client]) -> Client:
    """An agent's key, by which alice has three files and bob one with a name of his own."""
    client = client_of("agent")
    for user, path in (
        ("alice", "user/preferences.md"),
        ("alice", "user/notes/tea.md"),
        ("alice", "user/zebra.md"),
        ("bob", "user/quetzalcoatl.md"),
    ):
        put = client.put("/v1/file", params={"path": path}, content="x", headers={"Memex-User": user})
        assert put.is_success
    return client


def read(client: Client, path: str, user: str = "alice") -> Response:
    """Ask for a file that is not there."""
    return client.get("/v1/file", params={"path": path}, headers={"Memex-User": user})


def test_near_files_are_named(backend: Client) -> None:
    """In the hint, and for programs in `did_you_mean`; the other routes on files do the same."""
    problem = read(backend, "user/preference.md").json()
    moved = read(backend, "user/tea.md").json()
    alice = {"Memex-User": "alice"}
    others = [
        backend.get(f"/v1/{route}", params={"path": "user/zebr.md"}, headers=alice).json()
        for route in ("revisions", "blame")
    ]

    assert problem["code"] == "FILE_NOT_FOUND"
    assert problem["did_you_mean"] == ["user/preferences.md"]
    assert problem["hint"].startswith("Did you mean user/preferences.md? List the files")
    assert moved["did_you_mean"] == ["user/notes/tea.md"]
    assert [other["did_you_mean"] for other in others] == [["user/zebra.md"]] * 2


def test_nobody_learns_the_names_of_others(backend: Client) -> None:
    """Neither by the exact path of another's file nor by one near it."""
    for path in ("user/quetzalcoatl.md", "user/quetzalcoat.md"):
        problem = read(backend, path).json()

        assert problem["code"] == "FILE_NOT_FOUND"
        assert "did_you_mean" not in problem
        assert "quetzalcoatl.md" not in problem["hint"]
    assert read(backend, "user/quetzalcoat.md", "bob").json()["did_you_mean"] == ["user/quetzalcoatl.md"]


def test_near_projects_are_the_users_own(root: Client, backend: Client) -> None:
    """Who is not a member learns nothing of a project."""
    assert root.put("/v1/admin/projects/xylophone").is_success
    assert root.put("/v1/admin/projects/xylophone/members/alice").is_success

    member = read(backend, "projects/xylophon/plan.md").json()
    other = read(backend, "projects/xylophon/plan.md", "bob").json()

    assert (member["code"], member["did_you_mean"]) == ("PROJECT_NOT_FOUND", ["xylophone"])
    assert "Did you mean xylophone?" in member["hint"]
    assert other["code"] == "PROJECT_NOT_FOUND"
    assert "xylophone" not in str(other)


def test_an_empty_project_is_none(backend: Client) -> None:
    """A client that sends `project=` means no project; it is not told that there is no project ''."""
    for route in ("topics", "prompt-block", "work", "work/pack", "documents"):
        empty, none = (
            backend.get(f"/v1/{route}", params=params, headers={"Memex-User": "alice"})
            for params in ({"project": ""}, {})
        )

        assert (empty.status_code, empty.json().get("detail")) == (
            none.status_code,
            none.json().get("detail"),
        ), route
