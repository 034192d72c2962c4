"""Results of tools as answers over HTTP."""

from collections.abc import Mapping
from typing import Any

import orjson
from fastapi import Response
from pydantic import BaseModel

ZIP = "application/zip"


def json_answer(result: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Response:
    """Return a result as a JSON response.

    Nothing checks the result again: the service made it from the model that the route names as its
    `response_model`, and FastAPI validates no Response.
    """
    return Response(orjson.dumps(result), media_type="application/json", headers=headers)


def zip_answer(content: bytes, name: str) -> Response:
    """Return a zip, to be kept under a name."""
    return Response(
        content, media_type=ZIP, headers={"Content-Disposition": f'attachment; filename="{name}"'}
    )


def hashed_answer(result: BaseModel, digest: str, if_none_match: str | None) -> Response:
    """Return a result whose ETag is its hash, or that the client has it."""
    headers = {"ETag": f'"{digest}"', "Vary": "Authorization, Memex-User, Memex-Project"}
    if if_none_match is not None and matches_etag(if_none_match, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    return Response(result.model_dump_json(), media_type="application/json", headers=headers)


def matches_etag(if_none_match: str, etag: str) -> bool:
    """Tell whether an If-None-Match header names an ETag."""
    tags = [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
    return etag in tags or "*" in tags
