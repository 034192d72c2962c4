"""The folders whose documents are mirrored: their state, what was left out and why, a search, and removing one."""

from typing import Annotated

from fastapi import Query, Response

from memex.mirror.reasons import REASONS
from memex.ui.page import Page, page_router

router = page_router("/documents")

PATH = "/ui/documents"
HITS = 20
Name = Annotated[str, Query(max_length=200)]


@router.get("")
async def show_roots(
    page: Page, removed: Name = "", query: Annotated[str, Query(max_length=10_000)] = ""
) -> Response:
    """Return the user's own roots, and those of projects; with a query the documents in them that fit it."""
    found = await page.call("document_roots", {})
    hits = None
    if query.strip():
        hits = (await page.call("document_find", {"query": query, "limit": HITS}))["hits"]
    return page.render(
        "documents.html", roots=found["roots"], reasons=REASONS, removed=removed, query=query, hits=hits
    )


@router.get("/remove")
async def ask_to_remove(page: Page, root: Name, project: Name = "") -> Response:
    """Return what would go with a root."""
    asked = {"root": root, "project": project or None, "dry_run": True}
    counted = await page.call("document_remove", asked)
    return page.render("documents_remove.html", root=root, project=project, counted=counted)


@router.post("/remove")
async def remove(page: Page) -> Response:
    """Remove a root with all its documents, and lead to the others."""
    root, project = page.form.get("root", ""), page.form.get("project", "")
    await page.call("document_remove", {"root": root, "project": project or None})
    return page.redirect(PATH, removed=root)
