"""Signing in to the web UI and out of it, and whose memory a session shows.

A session is good for the pages alone. It calls the service as its key would, so each transaction checks the rights
of the key as in any other call.
"""

from collections import OrderedDict
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from memex.call_context import CallContext
from memex.errors import Forbidden, MemexError, RateLimited, Unauthenticated
from memex.service.call import Caller
from memex.service.service import Service
from memex.store.database import Database
from memex.store.identity import sessions, tenants
from memex.store.identity.authentication import Principal
from memex.store.identity.sessions import BrowserSession, ListedSession

ACTOR = "web"  # who makes the calls of a session, as the log names it
FIRST_USER = "me"  # whose memory the session of a link shows: that of the commands that `memex serve` prints
LINK_PATH = "/ui/sign-in/link/"
TOUCHED_EVERY = timedelta(minutes=1)
MAX_WRONG = 5  # wrong keys from one address in a minute
WRONG_FOR_S = 60.0
MAX_ADDRESSES = 4_096


class SignInLimiter:
    """Slows down who tries wrong keys: after five in a minute, an address waits until the minute is over."""

    def __init__(self) -> None:
        self._wrong: OrderedDict[str, list[float]] = OrderedDict()

    def check(self, address: str, now_s: float) -> None:
        """Raise RateLimited if an address has sent too many wrong keys."""
        recent = [at_s for at_s in self._wrong.get(address, []) if at_s > now_s - WRONG_FOR_S]
        if len(recent) >= MAX_WRONG:
            wait_s = max(1, round(recent[0] + WRONG_FOR_S - now_s))
            raise RateLimited(
                "Too many wrong keys came from your address.",
                hint=f"Wait {wait_s} s, and try again.",
                retry_after_s=wait_s,
            )

    def note_wrong(self, address: str, now_s: float) -> None:
        """Count a wrong key."""
        recent = [at_s for at_s in self._wrong.pop(address, []) if at_s > now_s - WRONG_FOR_S]
        self._wrong[address] = [*recent, now_s]
        if len(self._wrong) > MAX_ADDRESSES:
            self._wrong.popitem(last=False)


def context_of(session: BrowserSession) -> CallContext:
    """Return the context of the calls of a session. What a person does on a page comes by the channel `user`."""
    return CallContext(session.user_id, ACTOR, channel="user")


async def sign_in_by_key(service: Service, key: str) -> str:
    """Open a session for the holder of a key, and return its secret.

    Raises:
        Unauthenticated: the key is unknown or revoked.
        Forbidden: the key is an agent's that acts for many users: it says for nobody whose memory it is.
    """
    principal = await service.identities.authenticate(key)
    if principal.role == "agent" and principal.bound_user is None:
        raise Forbidden(
            "This key acts for many users, so it does not say whose memory to show.",
            hint="Use a key that is bound to a user: `memex keys create --role agent --user NAME`. An "
            "administrator's key opens the memory of everybody.",
        )
    return await _open(service, principal, principal.bound_user, "key")


async def make_link(database: Database, tenant: str) -> str:
    """Make a link that signs a browser in as an administrator of a tenant; return its secret.

    Raises:
        ValidationFailed: there is no tenant of this name.
    """
    return await sessions.make_link(database, await tenants.find_tenant(database, tenant), FIRST_USER)


async def sign_in_by_link(service: Service, link: str) -> str:
    """Spend a sign-in link, open its session, and return the secret of the session; raises Unauthenticated."""
    try:
        principal, user_id = await sessions.spend_link(service.database, link)
    except Unauthenticated:
        service.metrics.add_unauthenticated()
        raise
    return await _open(service, principal, user_id, "link")


async def session_of(service: Service, secret: str) -> BrowserSession:
    """Return the session of a secret, and note that it is used; raises Unauthenticated."""
    try:
        session = await sessions.read_session(service.database, secret)
    except Unauthenticated:
        service.metrics.add_unauthenticated()
        raise
    if datetime.now(UTC) - session.used_at > TOUCHED_EVERY:
        with suppress(MemexError):  # a disk that is full does not stop reading
            await sessions.touch_session(service.database, session)
    return session


async def sign_out(service: Service, session: BrowserSession) -> None:
    """End a session."""
    caller = await _caller(service, session, "ui_sign_out")
    async with service.recorder.recorded(caller, "ui_sign_out", {"session": session.session_id}) as log:
        await sessions.revoke_session(
            service.database, session.principal.tenant_id, session.session_id, key_id=session.principal.key_id
        )
        await log.add("committed")


async def show_user(service: Service, session: BrowserSession, user_id: str | None) -> None:
    """Let the session of an admin show the memory of another user, or of nobody, and log it.

    Raises:
        Forbidden: the session is an agent's, or its key is bound to a user.
        ValidationFailed: the user's id is malformed.
    """
    caller = await _caller(service, session, "ui_show_user")
    async with service.recorder.recorded(caller, "ui_show_user", {"user": user_id}) as log:
        if session.principal.role != "admin" or session.principal.bound_user is not None:
            raise Forbidden(
                "This session shows the memory of one user.",
                hint="Sign in with an administrator's key that is not bound to a user.",
            )
        if user_id is not None:
            async with service.database.maintenance() as connection:
                await tenants.check_user(connection, session.principal.tenant_id, user_id)
        await sessions.show_user(service.database, session, user_id)
        await log.add("committed")


async def list_sessions(service: Service, session: BrowserSession) -> list[ListedSession]:
    """Return the open sessions that this one may end: those of its key, for an admin those of the tenant."""
    found = await sessions.list_sessions(
        service.database, session.principal.tenant_id, key_id=_key_filter(session)
    )
    return list(found)


async def revoke_session(service: Service, session: BrowserSession, revoked: int) -> None:
    """End another session that `list_sessions` shows; raises ValidationFailed if it shows no such session."""
    caller = await _caller(service, session, "ui_session_revoke")
    async with service.recorder.recorded(caller, "ui_session_revoke", {"session": revoked}) as log:
        await sessions.revoke_session(
            service.database, session.principal.tenant_id, revoked, key_id=_key_filter(session)
        )
        await log.add("committed")


def _key_filter(session: BrowserSession) -> int | None:
    is_keeper = session.principal.role == "admin" and session.principal.bound_user is None
    return None if is_keeper else session.principal.key_id


async def _open(service: Service, principal: Principal, user_id: str | None, by: str) -> str:
    caller = await service.caller(principal, CallContext(user_id, ACTOR, channel="user"), action="ui_sign_in")
    async with service.recorder.recorded(caller, "ui_sign_in", {"by": by}) as log:
        secret = await sessions.open_session(service.database, principal, user_id)
        await log.add("committed")
    return secret


async def _caller(service: Service, session: BrowserSession, action: str) -> Caller:
    return await service.caller(session.principal, context_of(session), action=action)
