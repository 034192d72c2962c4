"""Import and export: a zip of Markdown files in, a zip of them out."""

from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import StreamingResponse

from memex.http.callers import HeaderToolCallId, KeyedRoute, TheService, agent_by_headers
from memex.service import transfer
from memex.service.service import Caller
from memex.service.transfer import ImportResult
from memex.sources.vault import ZipWriter

router = APIRouter(prefix="/v1", tags=["transfer"], route_class=KeyedRoute)

Agent = Annotated[Caller, Depends(agent_by_headers)]

ZIP = "application/zip"
BINARY = {"type": "string", "format": "binary"}
EMPTY_ZIP = "PK\x05\x06" + "\0" * 18
MEMORY_BYTES = 1 << 20  # a larger export is kept in a file while it is sent
CHUNK_BYTES = 64 << 10


@router.post(
    "/import",
    summary="Import a vault",
    openapi_extra={
        "requestBody": {"required": True, "content": {ZIP: {"schema": BINARY, "example": EMPTY_ZIP}}}
    },
)
async def import_vault(
    request: Request,
    service: TheService,
    caller: Agent,
    tool_call_id: HeaderToolCallId,
    into: Annotated[
        str | None,
        Query(
            description="The folder that it goes to. By default an export goes back to where it was, "
            "and anything else to user.",
            examples=["user/notes"],
        ),
    ] = None,
    dry_run: Annotated[bool, Query(description="Say what would happen, and write nothing.")] = False,
) -> ImportResult:
    """Write the Markdown files of a zip as they are; what cannot be taken is named, and the rest is written.

    Files are committed in batches of at most 100: each is a call that can be reverted, named in `calls`.
    """
    return await transfer.import_vault(
        service, caller, await request.body(), into=into, dry_run=dry_run, tool_call_id=tool_call_id
    )


@router.get(
    "/export",
    summary="Export files",
    response_class=StreamingResponse,
    responses={200: {"description": "A zip of the files", "content": {ZIP: {"schema": BINARY}}}},
)
async def export_files(
    service: TheService,
    caller: Agent,
    tool_call_id: HeaderToolCallId,
    source: Annotated[
        str | None,
        Query(
            alias="from",
            description="Only the files below this folder, by paths relative to it.",
            examples=["user"],
        ),
    ] = None,
) -> StreamingResponse:
    """Return a zip of every file that the user reads, by its virtual path, as all stood at one moment."""
    spool = SpooledTemporaryFile(max_size=MEMORY_BYTES)  # noqa: SIM115  # closed when the last of it is sent
    try:
        await transfer.export_files(
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
