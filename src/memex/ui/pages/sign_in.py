"""Signing in: with a key, or with the link that `memex serve` and `memex ui` print to a terminal."""

import time

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from memex.errors import Forbidden, MemexError, RateLimited, Refused, Unauthenticated
from memex.http.callers import service_of
from memex.http.problems import status_of
from memex.service.identity import sessions
from memex.service.identity.sessions import SignInLimiter
from memex.ui.page import SIGN_IN, UiRoute, own_path, redirect, shown_values
from memex.ui.rendering import render
from memex.ui.security import is_at_this_machine, set_session

router = APIRouter(prefix=SIGN_IN, route_class=UiRoute, include_in_schema=False)


@router.get("")
async def show_sign_in(request: Request, next: str | None = None) -> Response:  # noqa: A002  # as in its address
    """Return the page that asks for a key."""
    return _sign_in_page(request, own_path(next))


@router.post("")
async def sign_in(request: Request) -> Response:
    """Open a session for the holder of a key."""
    form = await request.form()
    key, target = str(form.get("key", "")).strip(), own_path(str(form.get("next", "")))
    address = request.client.host if request.client else ""
    limiter: SignInLimiter = request.app.state.sign_in_limiter
    try:
        limiter.check(address, time.monotonic())
        secret = await sessions.sign_in_by_key(service_of(request), key)
    except Refused as error:
        if isinstance(error, Unauthenticated):
            limiter.note_wrong(address, time.monotonic())
            error = Unauthenticated("This key is unknown or was revoked.", hint="Check that it is complete.")
        return _sign_in_page(request, target, error)
    response = redirect(request, target)
    set_session(request, response, secret)
    return response


@router.get("/link/{token}")
async def show_link(request: Request, token: str) -> Response:
    """Return a page whose button signs in: what only looks at the address, such as a preview, spends nothing."""
    _check_machine(request)
    return HTMLResponse(render("sign_in_link.html", shown_values(request) | {"token": token}))


@router.post("/link")
async def sign_in_by_link(request: Request) -> Response:
    """Spend a sign-in link: open a session of an administrator, which shows the memory of the user `me`."""
    _check_machine(request)
    token = str((await request.form()).get("token", ""))
    try:
        secret = await sessions.sign_in_by_link(service_of(request), token)
    except Unauthenticated as error:
        return _sign_in_page(request, own_path(None), error)
    response = redirect(request, own_path(None))
    set_session(request, response, secret)
    return response


def _check_machine(request: Request) -> None:
    """Refuse a sign-in link that comes from elsewhere; raises Forbidden."""
    if not is_at_this_machine(request):
        raise Forbidden(
            "A sign-in link works only on the machine that runs the service.",
            hint="Open it there, at 127.0.0.1 and not through a proxy, or sign in with a key.",
        )


def _sign_in_page(request: Request, target: str, error: MemexError | None = None) -> HTMLResponse:
    values = shown_values(request) | {
        "next": target,
        "error": error,
        "is_at_this_machine": is_at_this_machine(request),
    }
    response = HTMLResponse(
        render("sign_in.html", values), status_code=200 if error is None else status_of(error)
    )
    if isinstance(error, RateLimited):
        response.headers["Retry-After"] = str(error.details["retry_after_s"])
    return response
