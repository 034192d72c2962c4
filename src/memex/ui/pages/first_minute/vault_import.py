"""The import of a vault: a zip of Markdown files is sent, imported, and reported at an address of its own."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import Query, Response
from fastapi.responses import StreamingResponse

from memex.errors import FileNotFound, MemexError, ValidationFailed
from memex.http.middleware import MAX_VAULT_BYTES
from memex.service.vaults.transfer_report import Progress, ignore_progress
from memex.ui.page import Page, PageRequest, error_page, page_router
from memex.ui.rendering import address

router = page_router("/memory")

REPORT = "/ui/memory/imported"
PROGRESS_HEADER = "Memex-Progress"  # the script of the page sends it, and reads one JSON document a line
JSON_LINES = "application/x-ndjson"


@router.get("/import")
async def show_import(page: Page) -> Response:
    """Return the form that sends a zip."""
    return page.render("import.html", max_bytes=MAX_VAULT_BYTES)


@router.post("/import")
async def import_vault(page: Page) -> Response:
    """Import a zip of Markdown files, or say what an import would do."""
    sent = page.files.get("vault")
    if sent is None or not sent.filename:
        raise ValidationFailed("The form holds no file.", hint="Choose a zip of a folder of Markdown files.")
    zipped = await sent.read()
    if PROGRESS_HEADER in page.request.headers:
        return StreamingResponse(_told_in_lines(page, zipped), media_type=JSON_LINES)
    return page.redirect(await _imported(page, zipped, ignore_progress))


@router.get("/imported")
async def show_report(
    page: Page, call_id: Annotated[str, Query(alias="id", min_length=1, max_length=500)]
) -> Response:
    """Return what an import did."""
    newest = (await page.call("memory_operation", {"tool_call_id": call_id}))["attempts"][0]
    if newest["tool"] != "memory_import" or newest["response"] is None:
        raise FileNotFound("This call is no import that has ended.", hint="Look for it among the calls.")
    is_dry_run = newest["status"] == "dry_run"
    return page.render("imported.html", call_id=call_id, report=newest["response"], is_dry_run=is_dry_run)


async def _imported(page: PageRequest, zipped: bytes, progress: Progress) -> str:
    """Import a zip, and return the address of the report."""
    done = await page.memex.import_vault(
        page.context,
        zipped,
        into=page.form.get("into", "").strip() or None,
        dry_run=page.form.get("dry_run") == "true",
        projects=False,
        replace=False,
        progress=progress,
    )
    return address(REPORT, id=done["tool_call_id"])


async def _told_in_lines(page: PageRequest, zipped: bytes) -> AsyncIterator[str]:
    """Import a zip; tell how many files are done, and at last where the report is, or the page of an error."""
    told: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

    async def work() -> None:
        def progress(done: int, total: int) -> None:
            told.put_nowait({"done": done, "total": total})

        try:
            told.put_nowait({"location": await _imported(page, zipped, progress)})
        except MemexError as error:
            told.put_nowait({"page": bytes(error_page(page.request, error).body).decode()})
        finally:
            told.put_nowait(None)

    importing = asyncio.create_task(work())
    try:
        while (line := await told.get()) is not None:
            yield json.dumps(line) + "\n"
        await importing  # raises what is a bug
    finally:
        importing.cancel()
