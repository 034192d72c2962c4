"""The journal in the web UI: months and days instead of hundreds of files, and what an entry says of itself."""

import re
from urllib.parse import urlencode

from tests.ui.conftest import Site

TOLD = (
    ("2025-10-30T21:15:00Z", "I live in Lisbon."),
    ("2025-11-27T09:30:00Z", "---\nThe <b>choir</b> sang well."),
)


def tell(site: Site, user: str) -> list[str]:
    """Tell the texts, the first one twice; return the paths of their entries."""
    api = site.api(bound_to=user)
    paths = []
    for said_at, text in (*TOLD, ("2025-12-01T10:00:00Z", TOLD[0][1])):
        arguments = {"text": text, "said_at": said_at}
        answer = api.post("/v1/tools/memory_remember/execute", json={"arguments": arguments})
        assert answer.status_code == 200, answer.text
        paths.append(answer.json()["entry"].partition("@")[0])
    return paths


def test_the_tree_shows_months_and_the_pages_show_days(site: Site) -> None:
    """All files, without entries; the folder of the journal with its months; a month, and a day in its order."""
    first, second, again = tell(site, "alice")
    visitor = site.visitor(bound_to="alice")

    files = visitor.get("/ui/memory?folder=user/journal/").text
    months = visitor.get("/ui/memory/journal?month=2025-11").text
    day = visitor.get("/ui/memory/journal?day=2025-11-27").text

    assert first == again
    assert "Journal: all that was told" in visitor.get("/ui/memory").text
    assert "Journal: all" not in site.visitor(bound_to="nobody-yet").get("/ui/memory").text
    assert "/ui/memory/journal?month=2025-10" in files
    for path in (first, second):
        assert path.rpartition("/")[2] not in visitor.get("/ui/memory").text
        assert path.rpartition("/")[2] not in files
    assert "/ui/memory/journal?day=2025-11-27" in months
    assert "09:30" in day
    assert "---\nThe &lt;b&gt;choir&lt;/b&gt; sang well." in day
    assert "Lisbon" not in day


def test_an_entry_says_when_and_how_often_it_was_told(site: Site) -> None:
    """With the lines that were made from it, and no way to edit or move it."""
    first, *_ = tell(site, "bob")
    visitor = site.visitor(bound_to="bob")

    page = visitor.get(f"/ui/memory/file?path={first}")
    edit, move = (visitor.get(f"/ui/memory/{name}?path={first}") for name in ("edit", "move"))

    assert page.status_code == 200
    assert "2025-10-30 21:15 UTC" in page.text
    assert "1 time: " in page.text
    assert "1 line made from it" in page.text
    assert "/ui/memory/edit?" not in page.text
    assert "/ui/memory/move?" not in page.text
    assert "/ui/memory/journal?day=2025-10-30" in page.text
    for refused in (edit, move):
        assert refused.status_code == 409
        assert "ENTRY_IMMUTABLE" in refused.text or "entry of the journal" in refused.text


def test_a_memory_of_told_texts_alone_is_not_empty(site: Site) -> None:
    """Who told something that no page holds does not see the first steps again."""
    api = site.api(bound_to="carol")
    arguments = {"text": "We had a long walk along the river."}
    assert api.post("/v1/tools/memory_remember/execute", json={"arguments": arguments}).json()["writes"] == []

    assert "folder-tree" in site.visitor(bound_to="carol").get("/ui/memory").text


def test_a_search_shows_a_statement_and_its_entry_once(site: Site) -> None:
    """The hit is the page, and leads to the entry; the tool over HTTP names it too."""
    first, *_ = tell(site, "dora")
    visitor = site.visitor(bound_to="dora")

    page = visitor.get("/ui/search?query=Lisbon").text
    given = {"arguments": {"query": "Lisbon"}}
    hits = site.api(bound_to="dora").post("/v1/tools/memory_find/execute", json=given).json()["hits"]

    assert "1 file, the best first" in page
    assert re.findall(r'Told in <a href="([^"]*)">', page) == [
        f"/ui/memory/file?{urlencode({'path': first})}"
    ]
    assert [(hit["path"], hit["entries"]) for hit in hits] == [("user/profile.md", [first])]
