"""Importing an export: a file is sent, read in the background, and reported at an address of its own."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from fastapi import Query, Request, Response

from memex.api.ingest.report import IngestReport
from memex.api.uploads.imports import CancelledByPerson, UploadedImport, UploadedImports
from memex.errors import ValidationFailed
from memex.http.refusals import body_bytes
from memex.service.conversations import importing
from memex.store.conversations.imports import ConversationImport, list_imports
from memex.ui.page import Page, StreamedRoute, page_router
from memex.ui.pages.conversations.reading import formats_read
from memex.ui.pages.conversations.uploading import FileBegin, read_form
from memex.ui.pages.first_minute.vault_import import JSON_LINES, PROGRESS_HEADER
from memex.ui.rendering import address

router = page_router("/conversations")

PROGRESS_PAGE = "/ui/conversations/imported"
MAX_LABEL_CHARS = 200
FORM_BYTES = 64 << 10  # a form has no more than this beside its file
KINDS = ("tools", "reasoning", "attachments", "sidechains")  # what can be imported beside what was said

ImportId = Annotated[str, Query(alias="id", min_length=1, max_length=40)]


@router.get("/import")
async def show_form(page: Page) -> Response:
    """Return the form that sends an export, and the imports of before."""
    caller = await page.caller(importing.NAME)
    imports = [_whole(upload) for upload in await list_imports(page.service.database, caller.access)]
    return page.render(
        "conversations_import.html",
        max_bytes=_imports_of(page.request).max_bytes,
        under_way=next((upload for upload in imports if upload.is_open), None),
        imports=[upload for upload in imports if not upload.is_open],
        formats=formats_read(),
    )


async def receive_export(page: Page) -> Response:
    """Receive an export, and lead to the page that shows how it is read."""
    form = read_form(page.request)
    begin = await anext(form)
    assert isinstance(begin, FileBegin)  # noqa: S101  # the first event is always one
    page.check_form(begin.fields)
    if not begin.name:
        raise ValidationFailed("The form holds no file.", hint="Choose the file that you downloaded.")
    imports = _imports_of(page.request)
    work: UploadedImport | None = None
    try:
        async with imports.receiving(
            page.memex,
            page.session.principal,
            page.context,
            begin.name,
            _options(begin.fields),
            expected_bytes=max(0, body_bytes(page.request) - FORM_BYTES),
        ) as work:
            async for part in form:
                if isinstance(part, bytes):
                    await imports.received(work, part)
    except CancelledByPerson:
        pass  # the page of the import says so
    assert work is not None  # noqa: S101  # only its block cancels
    if PROGRESS_HEADER in page.request.headers:
        location = json.dumps({"location": address(PROGRESS_PAGE, id=work.import_id)})
        return Response(f"{location}\n", media_type=JSON_LINES)
    return page.redirect(PROGRESS_PAGE, id=work.import_id)


router.add_api_route("/import", receive_export, methods=["POST"], route_class_override=StreamedRoute)


@router.get("/imported")
async def show_import(page: Page, import_id: ImportId) -> Response:
    """Return how far an import is, or what became of it."""
    caller = await page.caller(importing.NAME)
    found = _whole(await importing.one(page.service, caller, import_id))
    return page.render(
        "conversations_imported.html",
        block="state",
        found=found,
        own_address=address(PROGRESS_PAGE, id=found.import_id),
        formats=formats_read(),
    )


@router.post("/import/cancel")
async def cancel_import(page: Page) -> Response:
    """End an import; what it stored stays."""
    import_id = page.form.get("id", "")
    await importing.cancel(page.service, await page.caller(importing.CANCEL), import_id)
    return page.redirect(PROGRESS_PAGE, id=import_id)


def _whole(found: ConversationImport) -> ConversationImport:
    """Return an import with a whole report, though nothing may have been reported yet."""
    return replace(found, report=IngestReport().document() | dict(found.report))


def _options(fields: Mapping[str, str]) -> dict[str, Any]:
    """Return how conversations are put in, by the fields of the form."""
    label = fields.get("label", "").strip()
    if len(label) > MAX_LABEL_CHARS or not label.isprintable():
        raise ValidationFailed(f"The name of a source has at most {MAX_LABEL_CHARS} printable characters.")
    return {
        "label": label or None,
        "include": {kind: True for kind in KINDS if fields.get(kind) == "true"},
        "again": fields.get("again") == "true",
        "dry_run": fields.get("dry_run") == "true",
    }


def _imports_of(request: Request) -> UploadedImports:
    imports: UploadedImports = request.app.state.imports
    return imports
