"""The documents of one root, and the text of one of them."""

from typing import Annotated

from fastapi import Query, Response

from memex.ui.page import Page, page_router

router = page_router("/documents")

FILES = 100  # on one page
Name = Annotated[str, Query(max_length=200)]
Path = Annotated[str, Query(max_length=1_000)]


@router.get("/root")
async def show_files(
    page: Page, root: Name, project: Name = "", prefix: Path = "", cursor: str | None = None
) -> Response:
    """Return the documents of a root by path."""
    asked = {"root": root, "project": project or None, "prefix": prefix, "limit": FILES, "cursor": cursor}
    found = await page.call("document_list", asked)
    # Without a project the user's own come first, and then those of projects that have a root of this name.
    files = [document for document in found["documents"] if (document["project"] or "") == project]
    is_all = len(files) < len(found["documents"])
    return page.render(
        "documents_root.html",
        root=root,
        project=project,
        prefix=prefix,
        files=files,
        next_cursor=None if is_all else found["next_cursor"],
    )


@router.get("/file")
async def show_text(page: Page, root: Name, path: Path, project: Name = "") -> Response:
    """Return a document with its text, as it was pushed last."""
    read = await page.call("document_read", {"root": root, "project": project or None, "path": path})
    return page.render("documents_file.html", document=read["document"], text=read["text"])
