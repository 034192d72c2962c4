"""Import and export: a zip of Markdown files in, a zip of them out."""

from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import Annotated, Any

from fastapi import Query, Request
from fastapi.responses import StreamingResponse

from memex.http.answers import ZIP
from memex.http.calls import Call
from memex.http.refusals import look
from memex.http.routers import RouterPair
from memex.service.vaults import vault_export, vault_import
from memex.service.vaults.transfer_report import ImportResult
from memex.sources.vault import ZipWriter

PAIR = RouterPair("", "transfer")

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
Projects = Annotated[
    bool,
    Query(
        description="Import the files of projects in an export back into their projects. By default they are "
        "left out, and named in `projects`."
    ),
]
Replace = Annotated[
    bool,
    Query(
        description="Also replace files of memory that are newer than those of the vault. By default these "
        "files are kept, and named in `kept`."
    ),
]
AllProjects = Annotated[
    bool,
    Query(description="For an admin: also the projects of which the user is not a member."),
]
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
    call: Call,
    into: Into = None,
    dry_run: DryRun = False,
    projects: Projects = False,
    replace: Replace = False,
) -> ImportResult:
    """Write the Markdown files of a zip as they are; what is not taken is named, and the rest is written.

    Reverting the call `tool_call_id` undoes the import. Files are committed in batches of at most 100, named in
    `calls`, each of which can be reverted alone.
    """
    look(request, call.service, call.caller.principal, writes=True)
    return await vault_import.import_vault(
        call.service,
        call.caller,
        await request.body(),
        into=into,
        dry_run=dry_run,
        projects=projects,
        replace=replace,
        tool_call_id=call.tool_call_id,
    )


@PAIR.route(
    "GET",
    "/export",
    summary="Export files",
    admin_summary="Export files as an admin",
    admin_description="Return a zip of what the user in Memex-User may read; without a user, of shared/ and of "
    "every project.",
    response_class=StreamingResponse,
    responses=ZIPPED,
)
async def export_files(
    call: Call, source: From = None, all_projects: AllProjects = False
) -> StreamingResponse:
    """Return a zip of every file that the user may read, by its virtual path, as all stood at one moment.

    The hidden file `.memex-export.jsonl` of the zip says which version each file is.
    """
    spool = SpooledTemporaryFile(max_size=MEMORY_BYTES)  # noqa: SIM115  # closed when the last of it is sent
    try:
        await vault_export.export_files(
            call.service,
            call.caller,
            ZipWriter(spool),
            source=source,
            all_projects=all_projects,
            tool_call_id=call.tool_call_id,
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
