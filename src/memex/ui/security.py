"""Protection of the pages against other sites: headers, the check of Origin, and the tokens of forms."""

import hashlib
import hmac
from collections.abc import Mapping
from urllib.parse import urlsplit

from fastapi import Request
from starlette.responses import Response

from memex.errors import Forbidden
from memex.http.hosts import LOOPBACK, hostname

COOKIE = "memex_session"
COOKIE_PATH = "/ui"
TOKEN_FIELD = "csrf_token"  # noqa: S105  # the name of a field
USER_FIELD = "shown_user"  # whose memory the page showed that holds the form
SAFE_METHODS = ("GET", "HEAD")
POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",  # with no-referrer, browsers would send `Origin: null` with our own forms
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class StaleForm(Forbidden):
    """A form was sent that the page of this session has not made: an old one, or another site's."""

    default_hint = "Load the page again."


def check_origin(request: Request) -> None:
    """Refuse a change that was not sent by a page of this service.

    Raises:
        Forbidden: there is no Origin, or it is not the host that the request is for.
    """
    origin = request.headers.get("origin", "")
    if not origin or urlsplit(origin).netloc != request.headers.get("host"):
        raise Forbidden(
            "The request does not come from a page of this service.",
            hint="Open the page in a browser, and send its form. A proxy must pass the header Host on.",
        )


def is_at_this_machine(request: Request) -> bool:
    """Return whether a request names this machine itself, and came through no proxy that says so."""
    proxied = any(name == "forwarded" or name.startswith("x-forwarded-") for name in request.headers)
    return not proxied and hostname(request.headers.get("host", "")) in LOOPBACK


def form_token(session_secret: str, user_id: str | None) -> str:
    """Return the token of the forms of a session while it shows the memory of a user."""
    message = "form of nobody" if user_id is None else f"form of user {user_id}"
    return hmac.new(session_secret.encode(), message.encode(), hashlib.sha256).hexdigest()


def check_form(form: Mapping[str, str], session_secret: str, user_id: str | None) -> None:
    """Refuse a form that was not made by this session for this user; raises StaleForm."""
    expected = form_token(session_secret, user_id)
    if not hmac.compare_digest(form.get(TOKEN_FIELD, "").encode(), expected.encode()):
        raise StaleForm("This form is older than your session, so nothing was changed.")


def set_session(request: Request, response: Response, secret: str) -> None:
    """Give a session to the browser, until it is closed or the session ends."""
    response.set_cookie(
        COOKIE,
        secret,
        path=COOKIE_PATH,
        httponly=True,
        samesite="lax",
        secure=_is_secure(request),
    )


def drop_session(request: Request, response: Response) -> None:
    """Take the session from the browser."""
    response.delete_cookie(
        COOKIE, path=COOKIE_PATH, httponly=True, samesite="lax", secure=_is_secure(request)
    )


def _is_secure(request: Request) -> bool:
    """Return whether the browser speaks https, though a proxy may speak http to this service."""
    return request.url.scheme == "https" or request.headers.get("origin", "").startswith("https:")
