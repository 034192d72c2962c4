"""Errors as RFC 9457 problem bodies, by one table from class to status."""

from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException

from memex import errors
from memex.errors import MemexError
from memex.service.tools.tool import describe_problem

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_S = 1
HINT = "Correct what the detail names, and send the request again."  # for an error that says no more

# The nearest class of an error's ancestry decides.
STATUS: dict[type[MemexError], int] = {
    errors.InvalidPath: 400,
    errors.PhysicalPathForbidden: 403,
    errors.Unauthenticated: 401,
    errors.Forbidden: 403,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.FileTooLarge: 413,
    errors.ValidationFailed: 422,
    errors.QuotaExceeded: 507,
    errors.RateLimited: 429,
    errors.Unavailable: 503,
    errors.DiskLow: 507,
    MemexError: 500,
}


class Problem(BaseModel):
    """The body of every refusal: match on `code`; `detail` and `hint` are for people."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
    code: str
    hint: str
    request_id: str | None = None


def status_of(error: MemexError) -> int:
    """Return the HTTP status of an error."""
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


def problem(request: Request, code: str, status: int, detail: str, hint: str, **details: Any) -> JSONResponse:
    """Return a problem body as a response."""
    headers = {"Cache-Control": "no-store"}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if status in (429, 503) or "retry_after_s" in details:
        headers["Retry-After"] = str(details.get("retry_after_s", RETRY_AFTER_S))
    body = details | problem_body(code, status, detail, hint, getattr(request.state, "request_id", None))
    return JSONResponse(_printable(body), status_code=status, headers=headers, media_type=MEDIA_TYPE)


def problem_body(
    code: str, status: int, detail: str, hint: str, request_id: str | None = None
) -> dict[str, Any]:
    """Return the fields that each problem body has."""
    return {
        "type": f"urn:memex:error:{code}",
        "title": code.replace("_", " ").capitalize(),
        "status": status,
        "detail": detail,
        "code": code,
        "hint": hint,
        "request_id": request_id,
    }


async def on_memex_error(request: Request, error: Exception) -> JSONResponse:
    """Translate an error of ours. A version conflict that came by If-Match is a failed precondition."""
    assert isinstance(error, MemexError)  # noqa: S101  # registered for this class
    status = status_of(error)
    if isinstance(error, errors.VersionConflict) and "if-match" in request.headers:
        status = 412
    return problem(request, error.code, status, error.message, error.hint or HINT, **error.details)


async def on_invalid_request(request: Request, error: Exception) -> JSONResponse:
    """Translate what FastAPI refused before any of our code ran."""
    assert isinstance(error, RequestValidationError)  # noqa: S101  # registered for this class
    faults = error.errors()[:5]
    found = "; ".join(map(describe_problem, faults))
    hint = "See /docs for what this route takes."
    if faults[0]["type"] == "json_invalid":
        place, why = faults[0]["loc"][-1], faults[0].get("ctx", {}).get("error", "")
        found = f"The body is no JSON, from its character {place} on: {why}"
        hint = f"Send one well-formed JSON object in UTF-8. {hint}"
    if faults[0]["loc"] == ("body",) and "json" not in request.headers.get("content-type", ""):
        hint = f"A JSON body needs Content-Type: application/json. {hint}"
    return problem(request, "VALIDATION_ERROR", 422, f"{found}.", hint)


async def on_http_error(request: Request, error: Exception) -> JSONResponse:
    """Translate what the framework refuses: no such route, no such method, a body that cannot be read."""
    assert isinstance(error, HTTPException)  # noqa: S101  # registered for this class
    if isinstance(error.__cause__, MemexError):  # the body was refused while the framework read it
        return await on_memex_error(request, error.__cause__)
    if error.status_code == 404:
        return problem(request, "UNKNOWN_ROUTE", 404, "There is no such route.", "See /docs for the routes.")
    if error.status_code == 405:
        found = problem(
            request,
            "METHOD_NOT_ALLOWED",
            405,
            f"This route takes no {request.method}.",
            "See /docs for its methods.",
        )
        found.headers["Allow"] = ", ".join(_methods(request))
        return found
    if error.status_code == 413:
        return problem(
            request,
            "FILE_TOO_LARGE",
            413,
            "The request is too large.",
            "A request may have 8 MiB, and an import 16 MiB: send the content in several requests.",
        )
    return problem(
        request, "VALIDATION_ERROR", 422, "The request could not be read.", "Send well-formed JSON in UTF-8."
    )


def _methods(request: Request) -> list[str]:
    """Return what the path takes over all of its routes; the framework names those of the first alone."""
    path = request.scope["route"].path
    routes = iter_route_contexts(request.app.routes)
    return sorted({method for route in routes if route.path == path for method in route.methods or ()})


def _printable(value: Any) -> Any:
    """Replace lone surrogates, which a hostile argument can bring into a message and no response can carry."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {name: _printable(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_printable(item) for item in value]
    return value
