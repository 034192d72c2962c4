"""The HTTP app over a service."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import iter_route_contexts
from fastapi.telemetry import TelemetryConfig
from fastapi_offline import FastAPIOffline
from starlette.exceptions import HTTPException

from memex import distribution
from memex.api.uploads.imports import UploadedImports
from memex.errors import MemexError
from memex.http import docs_page, problems
from memex.http.callers import documented_headers
from memex.http.hosts import KnownHosts
from memex.http.middleware import RequestMiddleware
from memex.http.routes import (
    browse,
    conversations,
    documents,
    dreams,
    erasing,
    events,
    files,
    mcp,
    me,
    operations,
    prompt_block,
    provenance,
    queue,
    removed,
    review,
    tools,
    transfer,
)
from memex.http.routes.state import greeting, health, metrics
from memex.http.routes.tenant import admin, erasures, evals, keys, projects, secrets
from memex.http.routes.tenant import health as tenant_health
from memex.http.routes.work import places, standing
from memex.service.identity.sessions import SignInLimiter
from memex.service.service import Service
from memex.settings import Settings
from memex.ui import site

OpenService = Callable[[], AbstractAsyncContextManager[Service]]

DESCRIPTION = """Memory for AI agents, kept as Markdown files with full revisions.

Send a key as `Authorization: Bearer …`. A path is virtual: `user/…`, `shared/…`, `projects/<slug>/…`; whose files
those are is said by the key and the context, never by a path. Errors are problem bodies with a stable `code`."""

# FastAPI's own spans and logs have URLs in them, and what it could not parse: memory, whatever our settings say.
NO_TELEMETRY: TelemetryConfig = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}

PROBLEM_STATUSES = (400, 401, 403, 404, 405, 409, 412, 413, 422, 429, 503)

# Modules whose routes are there twice: for agents and for admins.
PAIRED = (
    tools,
    browse,
    conversations,
    documents,
    dreams,
    erasing,
    events,
    files,
    operations,
    provenance,
    queue,
    removed,
    review,
    transfer,
    prompt_block,
    standing,
    places,
)


def create_app(open_service: OpenService, settings: Settings | None = None) -> FastAPI:
    """Return the app; it opens its service when it starts and closes it when it ends."""
    known = settings or Settings.model_construct()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with (
            open_service() as service,
            mcp.McpServers(service, known) as app.state.mcp,
            UploadedImports(service, known) as app.state.imports,
        ):
            app.state.service, app.state.metrics_key = service, known.metrics_key
            yield

    app = FastAPIOffline(  # what /docs needs, without anything from another host
        docs_url=None,
        redoc_url=None,
        static_url=docs_page.STATIC,
        title="Memex",
        version=distribution.version(),
        description=DESCRIPTION,
        lifespan=lifespan,
        telemetry=NO_TELEMETRY,
        redirect_slashes=False,  # a redirect is no problem body, and repeats the Host that the client sent
        responses={
            status: {
                "description": "A problem",
                "content": {problems.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
            }
            for status in PROBLEM_STATUSES
        },
    )
    app.state.hosts, app.state.sign_in_limiter = KnownHosts(known), SignInLimiter()
    app.add_middleware(RequestMiddleware)
    app.add_exception_handler(MemexError, problems.on_memex_error)
    app.add_exception_handler(RequestValidationError, problems.on_invalid_request)
    app.add_exception_handler(HTTPException, problems.on_http_error)
    routers = (
        *(part.PAIR.agent for part in PAIRED),
        *(part.router for part in (greeting, docs_page, health, metrics, projects, me)),
        operations.REPLAYABLE_PAIR.agent,
        *(part.router for part in (admin, erasures, keys, secrets, evals, tenant_health)),
        operations.REPLAYABLE_PAIR.admin,
        *(part.PAIR.admin for part in PAIRED),
        *(mcp.router, mcp.metadata_router),
        *site.routers(),
    )
    for router in routers:
        app.include_router(router)
    app.openapi = partial(_document, app)  # type: ignore[method-assign]  # FastAPI's own way to extend it
    return app


def _document(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, made once.

    Problems are put into it here: as a model of each response, FastAPI would build their fields for every status
    of every route, which took half of the time of the first request.
    """
    if app.openapi_schema is not None:
        return app.openapi_schema
    document = FastAPI.openapi(app)
    schema = problems.Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    document["components"]["schemas"].setdefault(problems.Problem.__name__, schema)
    for route in iter_route_contexts(app.routes):
        if getattr(route, "include_in_schema", False) and (headers := documented_headers(route.dependant)):
            for method in route.methods or ():
                document["paths"][route.path_format][method.lower()].setdefault("parameters", []).extend(
                    headers
                )
    return document
