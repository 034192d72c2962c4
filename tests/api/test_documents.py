"""Documents from Python, in this process and over HTTP: the same methods, answers and errors."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.kit.documents import sent
from tests.kit.http_service import serving_http
from tests.kit.postgres_servers import Server

from memex import Memex
from memex.errors import DocumentNotFound, MostlyGone, SyncInProgress, SyncSuperseded
from memex.store.identity import tenants

pytestmark = pytest.mark.embedded_only
FOLDER = {"README.md": "# Shop\n\nThe kestrel.\n", "docs/a b.md": "# Ä\n\nOolong.\n", "x.txt": "last"}


@pytest.fixture(params=["here", "over HTTP"])
async def memex(request: pytest.FixtureRequest, embedded_server: Server) -> AsyncIterator[Memex]:
    """A Memex over a fresh database: in this process, and served by another thread."""
    with embedded_server.lend() as lent:
        if request.param == "here":
            async with Memex(database_url=lent.conninfo) as memex:
                yield memex
            return
        with serving_http(lent.conninfo) as served:
            assert served.service is not None
            key, _ = served.run(tenants.create_key(served.service.database, "default", "agent"))
            async with Memex(url=served.url, api_key=key) as memex:
                yield memex


async def test_a_folder_is_pushed_found_and_removed(memex: Memex) -> None:
    """From the manifest to the removal; what is refused raises the error of its code."""
    documents = memex.for_user("alice").documents
    files: list[dict[str, Any]] = sent(FOLDER, tags=["shop"])
    listed = [{"path": one["path"], "sha256": one["sha256"]} for one in files]

    compared = await documents.compare("repo", listed, client="one")
    with pytest.raises(SyncInProgress):
        await documents.compare("repo", listed, client="two")
    put = await documents.put("repo", files, sync=compared.sync)
    done = await documents.finish(
        "repo",
        compared.sync,
        left_out={"secret": 1},
        examples=[{"path": ".env", "reason": "secret"}],
        patterns=["*.md"],
    )
    [root] = (await documents.roots()).roots
    first = await documents.list(tag="SHOP", limit=2)
    second = await documents.list(tag="shop", limit=2, cursor=first.next_cursor)
    read = await documents.read("repo", "docs/a b.md")
    [hit] = (await documents.find("kestrel", tags=["shop"])).hits
    unwatched = await documents.request_sync()
    heard = await documents.watch("repo")
    watched = await documents.request_sync()
    [seen] = (await documents.roots()).roots
    wanted = await documents.watch("repo", is_over=True)
    [left] = (await documents.roots()).roots
    emptied = await documents.compare("repo", [], client="one")

    assert [one.path for one in compared.wanted] == list(FOLDER)
    assert {one.change for one in put.files} == {"created"}
    assert (done.state, done.documents, root.left_out, root.patterns) == (
        "complete",
        3,
        {"secret": 1},
        ["*.md"],
    )
    assert [one.path for one in (*first.documents, *second.documents)] == list(FOLDER)
    assert (read.text, read.document.tags) == (FOLDER["docs/a b.md"], ["shop"])
    assert (hit.document.reference, hit.heading) == ("documents/user/repo/README.md", ["Shop"])
    assert (unwatched.asked, unwatched.not_watched, heard.wanted_at) == ([], ["repo"], None)
    assert (watched.asked, watched.not_watched) == (["repo"], [])
    assert wanted.wanted_at is not None
    assert [root.is_watched, seen.is_watched, left.is_watched] == [False, True, False]
    with pytest.raises(MostlyGone) as refused:
        await documents.finish("repo", emptied.sync)
    assert refused.value.details["gone"] == 3
    with pytest.raises(SyncSuperseded):
        await documents.put("repo", files, sync=compared.sync)
    assert (await documents.remove("repo", dry_run=True)).documents == 3
    assert (await documents.remove("repo")).documents == 3
    with pytest.raises(DocumentNotFound):
        await documents.watch("repo")
    with pytest.raises(DocumentNotFound):
        await documents.read("repo", "x.txt")
