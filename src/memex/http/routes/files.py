"""Files, their links and their versions as resources; each route is one tool, logged as such."""

from typing import Annotated, Any, Literal

from fastapi import Header, Query, Request, Response
from pydantic import BaseModel, WithJsonSchema

from memex.errors import ValidationFailed
from memex.http.answers import json_answer, matches_etag
from memex.http.callers import ToolRoute
from memex.http.calls import ToolRouteCall
from memex.http.parsing import RequestBody
from memex.http.routers import RouterPair
from memex.service.search.links import LinksResult
from memex.service.tools.file_edits import PatchResult, PlacedResult, WriteResult
from memex.service.tools.files import ListResult, ReadResult
from memex.service.tools.revisions import DiffResult, HistoryResult
from memex.service.tools.tool import example
from memex.service.tools.write_many import EditArguments, WriteManyResult
from memex.store.catalogue import MIN_CHARS

PAIR = RouterPair("", "files", route_class=ToolRoute)

PathQuery = Annotated[
    str,
    Query(description="A virtual path; percent-encoded as one query value.", examples=["user/profile.md"]),
]
ReasonQuery = Annotated[str | None, Query(description="Why, kept with the revision.")]
IfMatch = Annotated[str | None, Header(description='The version that was read, such as "3"; * for any.')]
IfNoneMatch = Annotated[str | None, Header(description="On a read the version that is known; on a write *.")]
AsOfQuery = Annotated[
    str | None,
    Query(
        description="Memory as it stood at this time (RFC 3339, + encoded as %2B), day, or state (JSON).",
        examples=["2026-11-22T09:30:00Z"],
    ),
]
MARKDOWN = "text/markdown; charset=utf-8"


@PAIR.agent.get("/files", summary="List files", response_model=ListResult)
async def list_files(
    call: ToolRouteCall,
    prefix: str = "",
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    cursor: str | None = None,
    as_of: AsOfQuery = None,
) -> Response:
    """Return files by path, a page at a time."""
    return await call.answer("memory_list", prefix=prefix, limit=limit, cursor=cursor, as_of=as_of)


@PAIR.agent.get(
    "/file",
    summary="Read a file",
    response_model=ReadResult,
    responses={
        200: {"content": {"text/markdown": {"schema": {"type": "string"}}}},
        304: {"description": "If-None-Match names the version that stands."},
    },
)
async def read_file(
    request: Request,
    call: ToolRouteCall,
    path: PathQuery,
    heading: str | None = None,
    version: int | None = None,
    as_of: AsOfQuery = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Return a file as JSON, or with `Accept: text/markdown` its bare text; ETag is its version."""
    read = await call.execute("memory_read", path=path, heading=heading, version=version, as_of=as_of)
    headers = {"ETag": _etag(read), "Vary": "Accept, Authorization, Memex-User"}
    if if_none_match is not None and matches_etag(if_none_match, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    if "text/markdown" in request.headers.get("accept", ""):
        return Response(read["content"], media_type=MARKDOWN, headers=headers)
    return json_answer(read, headers)


@PAIR.agent.put(
    "/file",
    summary="Write a whole file",
    response_model=WriteResult,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "text/markdown": {"schema": {"type": "string"}, "example": "# Alice\n\nLikes tea.\n"}
            },
        }
    },
)
async def write_file(
    request: Request,
    call: ToolRouteCall,
    path: PathQuery,
    reason: ReasonQuery = None,
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Write the body as the file's text: a new file, or with If-Match the successor of that version."""
    if if_none_match is not None and (if_none_match != "*" or if_match is not None):
        raise ValidationFailed("A write takes If-Match, or If-None-Match: *.")
    written = await call.execute(
        "memory_write", path=path, content=await _text(request), reason=reason, **_precondition(if_match)
    )
    return json_answer(written, {"ETag": _etag(written)})


class PatchBody(RequestBody):
    """The arguments of memory_patch beside the path and the version."""

    model_config = example(operation="append", text="Works at Apollo.", heading="Work")

    operation: Literal["append", "insert", "replace"]
    text: str
    heading: str | None = None
    match: str | None = None
    reason: str | None = None


@PAIR.agent.patch("/file", summary="Change a part of a file", response_model=PatchResult)
async def patch_file(
    call: ToolRouteCall, path: PathQuery, body: PatchBody, if_match: IfMatch = None
) -> Response:
    """Append, insert or replace; with If-Match only in that version, else in whatever stands there."""
    patched = await call.execute(
        "memory_patch", path=path, **body.model_dump(), base_version=_version(if_match)
    )
    return json_answer(patched, {"ETag": _etag(patched)})


@PAIR.agent.delete("/file", summary="Delete a file", response_model=PlacedResult)
async def delete_file(
    call: ToolRouteCall, path: PathQuery, reason: ReasonQuery = None, if_match: IfMatch = None
) -> Response:
    """Delete a file; its versions stay and can be restored."""
    return await call.answer("memory_delete", path=path, reason=reason, base_version=_version(if_match))


class MoveBody(RequestBody):
    """The new path of a file, and the reason for the move."""

    model_config = example(to="user/people/alice.md")

    to: str
    reason: str | None = None


@PAIR.agent.post("/file/move", summary="Move a file", response_model=PlacedResult)
async def move_file(
    call: ToolRouteCall, path: PathQuery, body: MoveBody, if_match: IfMatch = None
) -> Response:
    """Put a file at another path, inside its mount with its history."""
    return await call.answer("memory_move", path=path, **body.model_dump(), base_version=_version(if_match))


class BatchBody(RequestBody):
    """The arguments of memory_write_many; each edit is checked as a call of its own would be."""

    model_config = example(
        edits=[
            {"kind": "write", "path": "user/tea.md", "content": "# Tea\n\nOolong.\n"},
            {"kind": "delete", "path": "user/old.md", "base_version": 3},
        ]
    )

    edits: list[Annotated[dict[str, Any], WithJsonSchema(EditArguments.model_json_schema())]]


@PAIR.agent.post("/files:batch", summary="Change many files at once", response_model=WriteManyResult)
async def write_many(call: ToolRouteCall, body: BatchBody) -> Response:
    """Write, patch, move and delete up to 500 files in one commit, or none if one edit does not fit."""
    return await call.answer("memory_write_many", edits=body.edits)


class RestoreBody(RequestBody):
    """The version to put back, and the reason."""

    model_config = example(version=1, reason="the newer text was wrong")

    version: int
    reason: str | None = None


@PAIR.agent.post("/file/restore", summary="Restore a version", response_model=PlacedResult)
async def restore_file(
    call: ToolRouteCall, path: PathQuery, body: RestoreBody, if_match: IfMatch = None
) -> Response:
    """Put an earlier version back as the next one."""
    return await call.answer(
        "memory_restore", path=path, **body.model_dump(), base_version=_version(if_match)
    )


@PAIR.agent.get("/revisions", summary="List a file's versions", response_model=HistoryResult)
async def list_revisions(
    call: ToolRouteCall,
    path: PathQuery,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    cursor: str | None = None,
) -> Response:
    """Return what stood at a path and what its file was before, the newest first."""
    return await call.answer("memory_history", path=path, limit=limit, cursor=cursor)


@PAIR.agent.get("/diff", summary="Compare two versions", response_model=DiffResult)
async def diff(
    call: ToolRouteCall, path: PathQuery, from_version: int | None = None, to_version: int | None = None
) -> Response:
    """Return the unified diff of two versions of a path; by default of the newest and the one before."""
    return await call.answer("memory_diff", path=path, from_version=from_version, to_version=to_version)


@PAIR.agent.get("/links", summary="Follow links", response_model=LinksResult)
async def links(
    call: ToolRouteCall,
    path: PathQuery,
    direction: Literal["out", "in", "both"] = "both",
    depth: Annotated[int, Query(ge=1, le=5)] = 1,
    as_of: AsOfQuery = None,
) -> Response:
    """Return the links from and to a file."""
    return await call.answer("memory_links", path=path, direction=direction, depth=depth, as_of=as_of)


class Catalogue(BaseModel):
    """The catalogue as text, a line a file."""

    catalogue: str


CatalogueChars = Annotated[int, Query(ge=MIN_CHARS, le=1_000_000)]


@PAIR.operation(
    "memory_catalogue",
    summary="Show what there is",
    admin_description="Return the files of shared/, of every project, and of the user in Memex-User.",
)
def catalogue(max_chars: CatalogueChars = 8_000) -> Catalogue:
    """Return the files with titles, sizes, dates and tags, at most `max_chars` characters."""


async def _text(request: Request) -> str:
    try:
        return (await request.body()).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValidationFailed(
            f"The body is not UTF-8: byte {error.start}.", hint="Memory is text: send it in UTF-8."
        ) from None


def _etag(result: dict[str, Any]) -> str:
    return f'"{result["version"]}"'


def _precondition(if_match: str | None) -> dict[str, Any]:
    return {"overwrite": True} if if_match == "*" else {"base_version": _version(if_match)}


def _version(if_match: str | None) -> int | None:
    if if_match is None or if_match == "*":
        return None
    version = if_match.strip().strip('"')
    if not (version.isascii() and version.isdigit() and len(version) < 10):
        raise ValidationFailed(
            f"If-Match {if_match[:40]!r} is no version.", hint='Send the ETag of a read, such as "3".'
        )
    return int(version)
