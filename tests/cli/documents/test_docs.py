"""`memex docs`, and documents in what `memex find` and `memex context` print."""

import re
from pathlib import Path

import pytest
from tests.cli.conftest import Memex

pytestmark = pytest.mark.usefixtures("server_up")


@pytest.fixture
def here(memex: Memex, tmp_path: Path) -> Memex:
    """The command, with settings and a state of this test alone."""
    return memex.elsewhere(
        memex.data_dir, **{f"XDG_{kind}_HOME": str(tmp_path / kind) for kind in ("CONFIG", "STATE")}
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two documents and a file that is none."""
    (made := tmp_path / "Shop Repo").mkdir()
    (made / "deploy.md").write_text("# Deploying\n\nThe zeppelin is deployed on Mondays, by Ann.\n")
    (made / "notes.txt").write_text("The quay is wet.\n")
    (made / "x.py").write_text("zeppelin = 1\n")
    return made


@pytest.mark.slow
def test_find_and_context_include_documents_when_asked(here: Memex, folder: Path) -> None:
    """Behind what memory has, with root, path and heading; without `--include` nothing of them is there."""
    user = ("--user", "docs-ann")
    here.plain("write", "user/zeppelin.md", "--content", "# Zeppelin\n\nIt is grey.\n", *user)
    here.plain("docs", "push", str(folder), *user)
    include = ("--include", "documents")

    alone = here.plain("find", "zeppelin", *user)
    plain, found = here.both("find", "zeppelin deployed Mondays", *include, *user)
    without = here.plain("context", "When is the zeppelin deployed?", *user)
    context = here.json("context", "When is the zeppelin deployed?", *include, *user)

    assert "deploy.md" not in alone
    assert [hit["path"] for hit in found["hits"]] == ["user/zeppelin.md"]
    [section] = found["included"]
    details = section["hits"][0]["details"]
    assert (section["name"], details["root"]) == ("documents", "shop-repo")
    assert (details["document"], details["heading"]) == ("deploy.md", ["Deploying"])
    assert plain.index("user/zeppelin.md") < plain.index("deploy.md")
    assert "Mondays" not in without
    assert context["context"].index("It is grey") < context["context"].index("deployed on Mondays")
    assert [one["reason"] for one in context["sources"]].count("document") == 1


def test_a_folder_is_pushed_looked_at_and_removed(here: Memex, folder: Path) -> None:
    """What was pushed and left out is said; nobody watches it, and it is gone when it is removed."""
    user = ("--user", "docs-bob")
    dry = here.plain("docs", "push", str(folder), "--dry-run", *user)
    pushed = here.plain("docs", "push", str(folder), *user)
    again = here.plain("docs", "push", str(folder), *user)
    status = here.plain("docs", "status", *user)
    asked = here.run("docs", "sync", *user)
    counted = here.plain("docs", "remove", "shop-repo", *user)
    removed = here.plain("docs", "remove", str(folder), "--yes", *user)
    left = here.plain("docs", "status", *user)

    assert dry.startswith("deploy.md\nnotes.txt\nWould push 2 files")
    assert pushed.startswith("Pushed shop-repo: 2 created; 2 documents, ")
    assert again.startswith("Pushed shop-repo: nothing changed; 2 documents, ")
    assert re.search(r"^shop-repo +complete +2 ", status, re.MULTILINE), status
    assert "no machine watches it now" in asked.out
    assert "docs push FOLDER --name shop-repo\n" in asked.out
    assert counted.startswith("Would remove shop-repo: 2 documents")
    assert removed.startswith("Removed shop-repo: 2 documents")
    assert "No documents were pushed" in left


@pytest.mark.parametrize("name", ["Ü", "a/b", "-x", "x" * 64])
def test_a_name_that_is_none_is_refused(here: Memex, folder: Path, name: str) -> None:
    """Before anything is read or sent, with what a name may be."""
    done = here.run("docs", "push", str(folder), f"--name={name}", "--user", "docs-cal", "--json")

    assert done.code != 0
    assert "VALIDATION_ERROR" in done.err


def test_a_push_that_is_refused_is_not_noted(here: Memex, folder: Path) -> None:
    """There is no such project: nothing of the folder is watched or shown later."""
    user = ("--user", "docs-dan")
    done = here.run("docs", "push", str(folder), "--project", "nowhere", "--json", *user)
    status = here.json("docs", "status", *user)

    assert "PROJECT_NOT_FOUND" in done.err
    assert status == {"roots": [], "not_pushed": [], "vectors": None}
