"""One file: its text, its versions, what differs between two of them, who wrote its lines, and who saw it."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Query, Response

from memex.errors import FileNotFound, LimitExceeded
from memex.service.tools.tool import MAX_VERSION
from memex.store.entry_path import is_entry_at
from memex.store.text_pool import offload
from memex.ui.comparison import diff_lines
from memex.ui.markdown import RenderedText, render_text, stored_text
from memex.ui.page import Page, PageRequest, page_router

router = page_router("/memory")

PathQuery = Annotated[str, Query(max_length=2_000)]
Version = Annotated[int | None, Query(ge=1, le=MAX_VERSION)]


@router.get("/file")
async def show_file(page: Page, path: PathQuery, version: Version = None) -> Response:
    """Return a file as a page: its text, its front matter, and its links out and in."""
    try:
        read = await page.execute("memory_read", {"path": path, "version": version})
    except FileNotFound as error:
        return await _show_deleted(page, path, error)
    newest = (await page.execute("memory_history", {"path": path, "limit": 1}))["revisions"]
    is_newest = bool(newest) and newest[0]["version"] == read["version"] and not newest[0]["deleted"]
    found = (
        await page.execute("memory_links", {"path": path, "direction": "in"}) if is_newest else {"links": []}
    )
    entry = None
    if is_newest and is_entry_at(path):
        [entry] = (await page.call("memory_journal", {"path": path}))["entries"]
    cited = [link for link in read["links"] if link.get("kind") == "evidence"]
    return page.render(
        "file.html",
        file=read | {"links": [link for link in read["links"] if link not in cited]},
        citations=len(cited),
        text=await laid_out(read),
        newest=newest[0] if newest else None,
        is_newest=is_newest,
        entry=entry,
        backlinks=sorted({link["source"] for link in found["links"]}),
    )


@router.get("/versions")
async def show_versions(page: Page, path: PathQuery, cursor: str | None = None) -> Response:
    """Return the versions of a file, the newest first."""
    found = await page.execute("memory_history", {"path": path, "limit": 50, "cursor": cursor})
    return page.render(
        "versions.html", path_shown=path, revisions=found["revisions"], next_cursor=found["next_cursor"]
    )


@router.get("/diff")
async def show_diff(
    page: Page,
    path: PathQuery,
    old: Annotated[int | None, Query(ge=0, le=MAX_VERSION)] = None,
    new: Version = None,
) -> Response:
    """Return what differs between two versions of a file; by default the newest and the one before."""
    found = await page.execute("memory_diff", {"path": path, "from_version": old, "to_version": new})
    lines = await offload.run(len(found["diff"]), diff_lines, found["diff"])
    return page.render("diff.html", diff=found, lines=lines)


@router.get("/blame")
async def show_blame(page: Page, path: PathQuery, version: Version = None) -> Response:
    """Return the lines of a file, each with the call that wrote it."""
    blamed = await page.call("memory_blame", {"path": path, "version": version})
    writers = {f"{revision['path']}@{revision['version']}": revision for revision in blamed["revisions"]}
    rows: list[dict[str, Any]] = []
    for line in blamed["lines"]:
        is_first = not rows or rows[-1]["wrote"] != line["wrote"]
        rows.append(
            {
                "text": line["text"].rstrip("\r\n"),
                "wrote": line["wrote"],
                "writer": writers[line["wrote"]] if is_first else None,
            }
        )
    return page.render("blame.html", blamed=blamed, rows=rows)


@router.get("/seen")
async def show_seen(
    page: Page,
    path: PathQuery,
    version: Annotated[int, Query(ge=1, le=MAX_VERSION)],
    cursor: str | None = None,
) -> Response:
    """Return the calls that saw a version of a file."""
    found = await page.call("seen_calls", {"path": path, "version": version, "limit": 50, "cursor": cursor})
    return page.render("seen.html", seen=found)


async def _show_deleted(page: PageRequest, path: str, error: FileNotFound) -> Response:
    """Return the page of a path where a file stood before; raises the error if none ever did."""
    try:
        found = (await page.execute("memory_history", {"path": path, "limit": 2}))["revisions"]
    except FileNotFound:
        raise error from None
    before = found[1] if len(found) > 1 and not found[1]["deleted"] else None
    return page.render("deleted.html", status=404, path_shown=path, last=found[0], before=before)


async def laid_out(read: dict[str, Any]) -> RenderedText:
    """Return the text of an answer of `memory_read` as a page shows it."""
    if is_entry_at(read["path"]):  # nothing inside an entry is markup or metadata
        return stored_text(read["content"])
    targets = [link["target"] for link in read["links"] if link["exists"]]
    return await text_as_page(read["content"], read["path"], targets, read["title"])


async def text_as_page(
    text: str, path: str, targets: Sequence[str] = (), title: str | None = None
) -> RenderedText:
    """Return a text as a page shows it: laid out, or as it is stored if that takes too long."""
    try:
        return await offload.run(len(text), render_text, text, path, list(targets), title)
    except LimitExceeded:
        return stored_text(text)


async def read_file(page: PageRequest, path: str) -> dict[str, Any]:
    """Return the newest version of a file, as `memory_read` answers."""
    return await page.execute("memory_read", {"path": path})
