"""The files of a memory."""

from collections.abc import Iterable
from typing import Annotated

from fastapi import Query, Response

from memex.errors import InvalidPath, ProjectNotFound, ValidationFailed
from memex.ui.page import Page, page_router

router = page_router("/memory")

FILES = 100  # on one page


@router.get("")
async def show_files(
    page: Page, folder: Annotated[str, Query(max_length=1_000)] = "", cursor: str | None = None
) -> Response:
    """Return the list of the files, or of those whose path begins with a text."""
    try:
        listed = await page.execute("memory_list", {"prefix": folder, "limit": FILES, "cursor": cursor})
    except (InvalidPath, ProjectNotFound, ValidationFailed):
        if not page.is_partial:
            raise
        listed = {"files": [], "next_cursor": None}  # who types has not finished the path
    paths = [file["path"] for file in listed["files"]]
    return page.render(
        "memory.html",
        block="files",
        files=listed["files"],
        next_cursor=listed["next_cursor"],
        folder=folder,
        folders=_folders_below(folder, paths),
    )


def _folders_below(folder: str, paths: Iterable[str]) -> list[str]:
    """Return the folders right below a folder that the paths lie in, if there is more than one."""
    below = {f"{folder}{rest.split('/')[0]}/" for path in paths if "/" in (rest := path[len(folder) :])}
    is_folder = folder == "" or folder.endswith("/")
    return sorted(below)[:30] if is_folder and len(below) > 1 else []
