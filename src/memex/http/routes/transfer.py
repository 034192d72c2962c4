"""Import and export: a zip of Markdown files in, a zip of them out."""

from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import Annotated, Any

from fastapi import Query, Request
from fastapi.responses import StreamingResponse

from memex.http.callers import HeaderCaller, HeaderToolCallId, ServiceDependency
from memex.http.routers import RouterPair
from memex.service.service import Caller, Service
from memex.service.tools import vault_export, vault_import
from memex.service.tools.vault_import import ImportResult
from memex.sources.vault import ZipWriter

PAIR = RouterPair("", "transfer")
router, admin_router = PAIR.agent, PAIR.admin


ZIP = "application/zip"
BINARY = {"type": "string", "format": "binary"}
EMPTY_ZIP = "PK\x05\x06" + "\0" * 18
MEMORY_BYTES = 1 << 20  # a larger export is kept in a file while it is sent
CHUNK_BYTES = 64 << 10


VAULT = {"requestBody": {"required": True, "content": {ZIP: {"schema": BINARY, "example": EMPTY_ZIP}}}}
ZIPPED: dict[int | str, dict[str, Any]] = {
    200: {"description": "A zip of the files", "content": {ZIP: {"schema": BINARY}}}
}
Into = Annotated[
    str | None,
    Query(
        description="The folder that it goes to. By default an export goes back to where it was, "
        "and anything else to user.",
        examples=["user/notes"],
    ),
]
DryRun = Annotated[bool, Query(description="Say what would happen, and write nothing.")]
From = Annotated[
    str | None,
    Query(
        alias="from",
        description="Only the files below this folder, by paths relative to it.",
        examples=["user"],
    ),
]


@PAIR.route(
    "POST",
    "/import",
    summary="Import a vault",
    admin_summary="Import a vault as an admin",
    admin_description="Write the files of a zip for the user in Memex-User, or into shared/ or a project.",
    openapi_extra=VAULT,
)
async def import_vault(
    request: Request,
    service: ServiceDependency,
    caller: HeaderCaller,
    tool_call_id: HeaderToolCallId,
    into: Into = None,
    dry_run: DryRun = False,
) -> ImportResult:
    """Write the Markdown files of a zip as they are; what cannot be taken is named, and the rest is written.

    Files are committed in batches of at most 100: each is a call that can be reverted, named in `calls`.
    """
    return await vault_import.import_vault(
        service, caller, await request.body(), into=into, dry_run=dry_run, tool_call_id=tool_call_id
    )


@PAIR.route(
    "GET",
    "/export",
    summary="Export files",
    admin_summary="Export files as an admin",
    admin_description="Return a zip of shared/, of every project, and of the files of the user in Memex-User.",
    response_class=StreamingResponse,
    responses=ZIPPED,
)
async def export_files(
    service: ServiceDependency, caller: HeaderCaller, tool_call_id: HeaderToolCallId, source: From = None
) -> StreamingResponse:
    """Return a zip of every file that the user reads, by its virtual path, as all stood at one moment."""
    return await _export(service, caller, tool_call_id, source)


async def _export(
    service: Service, caller: Caller, tool_call_id: str | None, source: str | None
) -> StreamingResponse:
    spool = SpooledTemporaryFile(max_size=MEMORY_BYTES)  # noqa: SIM115  # closed when the last of it is sent
    try:
        await vault_export.export_files(
            service, caller, ZipWriter(spool), source=source, tool_call_id=tool_call_id
        )
    except BaseException:
        spool.close()
        raise
    headers = {
        "Content-Length": str(spool.tell()),
        "Content-Disposition": 'attachment; filename="memex.zip"',
    }
    return StreamingResponse(_chunks(spool), media_type=ZIP, headers=headers)


def _chunks(spool: "SpooledTemporaryFile[bytes]") -> Iterator[bytes]:
    with spool:
        spool.seek(0)
        while chunk := spool.read(CHUNK_BYTES):
            yield chunk
