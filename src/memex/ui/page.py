"""A request for a page: who is signed in, what the page calls, and how it is answered.

The module of a page makes a router with `page_router`, and its handlers take `page: Page`:

    router = page_router("/search")

    @router.get("")
    async def search(page: Page, query: str = "") -> Response:
        found = await page.execute("memory_find", {"query": query})
        return page.render("search.html", hits=found["hits"])

The route has checked the session by then, and of a POST also the origin and the token of the form, whose fields are
`page.form`. Errors become pages.
"""

from collections.abc import Callable, Coroutine, Mapping
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from memex.api.local import LocalMemex
from memex.api.uploads.folder import too_large
from memex.call_context import CallContext
from memex.errors import FileTooLarge, MemexError, Unauthenticated, ValidationFailed
from memex.http.callers import service_of
from memex.http.hosts import hosts_of
from memex.http.middleware import MAX_UPLOAD_FORM_BYTES, MAX_VAULT_BYTES
from memex.http.problems import RETRY_AFTER_S, status_of
from memex.service.identity import sessions
from memex.service.service import Caller, Service
from memex.service.tools.tool import describe_problem
from memex.store.identity.sessions import SESSION_ENDED, SESSION_HINT, BrowserSession
from memex.ui.navigation import entries_for
from memex.ui.rendering import address, render
from memex.ui.security import (
    COOKIE,
    HEADERS,
    SAFE_METHODS,
    TOKEN_FIELD,
    USER_FIELD,
    StaleForm,
    check_form,
    check_origin,
    form_token,
)

HOME = "/ui/memory"
SIGN_IN = "/ui/sign-in"
IMPORT = "/ui/memory/import"
UPLOAD = "/ui/conversations/import"
Fields = Mapping[str, str]


class PageRequest:
    """A request of who is signed in.

    Attributes:
        session: who is signed in, and whose memory is shown.
        form: the fields of the form that was sent; empty for GET.
        files: the files of the form that was sent, by the names of their fields.
    """

    def __init__(
        self,
        request: Request,
        session: BrowserSession,
        secret: str,
        form: Fields,
        files: Mapping[str, UploadFile],
    ) -> None:
        self.request = request
        self.service: Service = service_of(request)
        self.session = session
        self.form = form
        self.files = files
        self._secret = secret

    @property
    def context(self) -> CallContext:
        """For whom the calls of this session are made."""
        return sessions.context_of(self.session)

    @property
    def memex(self) -> LocalMemex:
        """The API, as the holder of the key calls it; pass it `context`."""
        return LocalMemex(self.service, self.session.principal, role=self.session.principal.role)

    @property
    def is_partial(self) -> bool:
        """Return whether htmx asks for a part of the page."""
        return is_partial(self.request)

    async def caller(self, action: str) -> Caller:
        """Return who calls, for functions of the service that take a caller; a refusal is logged under `action`."""
        _, caller = await self.memex.caller(self.context, action)
        return caller

    async def execute(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Run a tool, log the call, and return its result."""
        return await self.memex.execute(self.context, tool, arguments)

    async def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Run an operation of `memex.routes`, and return its JSON."""
        return await self.memex.call(self.context, name, arguments)

    def render(
        self, template: str, *, block: str | None = None, status: int = 200, **values: Any
    ) -> HTMLResponse:
        """Return a page; if htmx asks for a part, only the block of this name, if there is one."""
        part = block if self.is_partial else None
        values |= shown_values(self.request, self)
        return HTMLResponse(render(template, values, block=part), status_code=status)

    def redirect(self, path: str, /, **query: Any) -> Response:
        """Lead the browser to another page, after a form was carried out."""
        return redirect(self.request, address(path, **query))

    def check_form(self, fields: Fields) -> None:
        """Refuse a form that was not made by this session for its user; raises StaleForm."""
        check_form(fields, self._secret, self.session.user_id)

    @property
    def form_token(self) -> str:
        """The token of the forms on this page."""
        return form_token(self._secret, self.session.user_id)


def shown_values(request: Request, page: PageRequest | None = None) -> dict[str, Any]:
    """Return what the frame around each page shows; without a page, nobody is signed in."""
    return {
        "navigation": entries_for(page.session.principal) if page else (),
        "path": request.url.path,
        "session": page.session if page else None,
        "form_fields": {TOKEN_FIELD: page.form_token, USER_FIELD: page.session.user_id or ""} if page else {},
        "notice": request.query_params.get("notice", ""),
        "noticed_call": request.query_params.get("call", ""),
        "noticed_path": request.query_params.get("path", ""),
    }


class UiRoute(APIRoute):
    """A route of the UI: the host and of a change the origin are checked, and errors become pages."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, which raises nothing that Memex raises on purpose."""
        handle = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            try:
                hosts_of(request).check(request)
                if request.method not in SAFE_METHODS:
                    check_origin(request)
                response = await self.answer(request, handle)
            except MemexError as error:
                response = error_page(request, error)
            except RequestValidationError as error:
                found = "; ".join(map(describe_problem, error.errors()[:5]))
                response = error_page(request, ValidationFailed(f"{found}."))
            except HTTPException as error:
                response = error_page(request, _unreadable(request, error))
            for name, value in HEADERS.items():
                response.headers[name] = value
            response.headers.setdefault("Cache-Control", "no-store")
            return response

        return guarded

    async def answer(
        self, request: Request, handle: Callable[[Request], Coroutine[Any, Any, Response]]
    ) -> Response:
        """Answer a request whose host and origin are right."""
        return await handle(request)


class PageRoute(UiRoute):
    """A route of who is signed in. Of a POST also the token of the form is checked."""

    is_streamed = False

    async def answer(
        self, request: Request, handle: Callable[[Request], Coroutine[Any, Any, Response]]
    ) -> Response:
        """Answer a request; without a session, lead to the sign-in page and keep what was sent."""
        form, files = ({}, {}) if self.is_streamed else await _form_of(request)
        try:
            return await self._answer(request, handle, form, files)
        finally:
            for file in files.values():
                await file.close()

    async def _answer(
        self,
        request: Request,
        handle: Callable[[Request], Coroutine[Any, Any, Response]],
        form: Fields,
        files: Mapping[str, UploadFile],
    ) -> Response:
        secret = request.cookies.get(COOKIE, "")
        try:
            session = await _session_of(request, secret)
        except Unauthenticated as error:
            return _kept_form(request, form, error) if form else _to_sign_in(request)
        page = PageRequest(request, session, secret, form, files)
        request.state.page = page
        if request.method not in SAFE_METHODS and not self.is_streamed:
            try:
                check_form(form, secret, session.user_id)
            except StaleForm as error:
                return _kept_form(request, form, error, page)
        try:
            return await handle(request)
        except Unauthenticated:  # the key was revoked while the page was made
            return _to_sign_in(request)


class StreamedRoute(PageRoute):
    """A route of who is signed in, whose handler reads the form itself and first calls `page.check_form`."""

    is_streamed = True


def page_router(path: str) -> APIRouter:
    """Return a router of pages below `/ui`, for who is signed in."""
    return APIRouter(prefix=f"/ui{path}", route_class=PageRoute, include_in_schema=False)


async def page_of(request: Request) -> PageRequest:
    """Return the request of a page, as its route has checked it."""
    page: PageRequest = request.state.page
    return page


Page = Annotated[PageRequest, Depends(page_of)]


def is_partial(request: Request) -> bool:
    """Return whether htmx asks for a part of a page."""
    return request.headers.get("hx-request") == "true" and "hx-boosted" not in request.headers


def redirect(request: Request, path: str) -> Response:
    """Lead a browser to a page of ours."""
    if is_partial(request):
        return Response(status_code=200, headers={"HX-Redirect": path})
    return RedirectResponse(path, status_code=303)


def error_page(request: Request, error: MemexError) -> HTMLResponse:
    """Return the page of an error, with what to do next."""
    status = status_of(error)
    page = getattr(request.state, "page", None)
    values = shown_values(request, page) | {
        "error": error,
        "begins_inside": "cursor" in request.query_params and status == 422,
        "status": status,
        "request_id": getattr(request.state, "request_id", None),
        "is_temporary": status == 503 and request.method in SAFE_METHODS,
        "retry_after_s": 5,
    }
    block = "content" if is_partial(request) else None
    response = HTMLResponse(render("error.html", values, block=block), status_code=status)
    if status in (429, 503):
        response.headers["Retry-After"] = str(error.details.get("retry_after_s", RETRY_AFTER_S))
    return response


def own_path(path: str | None) -> str:
    """Return a path to lead to after signing in: only one of a page, so that no link leads to another site."""
    if path is None or "\\" in path or any(ord(character) < 33 for character in path):
        return HOME
    parts = urlsplit(path)
    is_own = not parts.scheme and not parts.netloc and parts.path.startswith("/ui/")
    return path if is_own and not parts.path.startswith(SIGN_IN) else HOME


async def _session_of(request: Request, secret: str) -> BrowserSession:
    if not secret:
        raise Unauthenticated(SESSION_ENDED, hint=SESSION_HINT)
    return await sessions.session_of(service_of(request), secret)


async def _form_of(request: Request) -> tuple[dict[str, str], dict[str, UploadFile]]:
    if request.method in SAFE_METHODS:
        return {}, {}
    sent = await request.form()
    fields = {name: value for name, value in sent.items() if isinstance(value, str)}
    return fields, {name: value for name, value in sent.items() if isinstance(value, UploadFile)}


def _unreadable(request: Request, error: HTTPException) -> MemexError:
    """Return what is wrong with a form that the framework refused to read."""
    if error.status_code == 413 and request.url.path == IMPORT:
        return FileTooLarge(
            f"The zip is larger than {MAX_VAULT_BYTES >> 20} MiB.",
            hint="Go back, and import the folders of the vault one at a time.",
        )
    if error.status_code == 413 and request.url.path == UPLOAD:
        return too_large(MAX_UPLOAD_FORM_BYTES)
    if error.status_code == 413:
        return FileTooLarge("The form is too large.", hint="Send the text in several files.")
    return ValidationFailed("The form could not be read.", hint="Load the page again.")


def _to_sign_in(request: Request) -> Response:
    current = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    if request.method not in SAFE_METHODS or is_partial(request):
        shown = urlsplit(request.headers.get("hx-current-url", request.headers.get("referer", HOME)))
        current = shown.path + (f"?{shown.query}" if shown.query else "")
    return redirect(request, address(SIGN_IN, next=own_path(current)))


def _kept_form(
    request: Request, form: Fields, error: MemexError, page: PageRequest | None = None
) -> HTMLResponse:
    """Return a page with the form that was not carried out, so that nothing that was typed is lost."""
    values = shown_values(request, page) | {
        "error": error,
        "sent": {name: value for name, value in form.items() if name not in (TOKEN_FIELD, USER_FIELD)},
        "sent_for": form.get(USER_FIELD) or None,
        "action": request.url.path,
    }
    return HTMLResponse(render("kept_form.html", values), status_code=status_of(error))
