"""The files of a memory."""

from typing import Annotated

from fastapi import Query, Response

from memex.ui.page import Page, page_router

router = page_router("/memory")


@router.get("")
async def show_files(
    page: Page, folder: Annotated[str, Query(max_length=1_000)] = "", cursor: str | None = None
) -> Response:
    """Return the list of the files."""
    listed = await page.execute("memory_list", {"prefix": folder, "limit": 100, "cursor": cursor})
    return page.render(
        "memory.html", block="files", files=listed["files"], next_cursor=listed["next_cursor"], folder=folder
    )
