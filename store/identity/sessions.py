"""The sessions of the web UI, and the links by which the terminal of the service signs a browser in.

Both are secrets of 256 random bits, of which the database keeps the digest. A session acts with the rights of the
key that opened it, and ends with that key. The session of a link has no key: it acts as whoever runs commands on
the machine.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from memex.errors import Unauthenticated, ValidationFailed
from memex.store.access import Role
from memex.store.database import Database, row, row_as, rows_as
from memex.store.identity.authentication import Principal, key_digest, new_secret
from memex.store.sql import sql

SESSION_LIFETIME_S = 12 * 60 * 60
LINK_LIFETIME_S = 10 * 60
SESSION_ENDED = "You are not signed in, or the session has ended."
SESSION_HINT = "Sign in."


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """A session of a browser: who is signed in, and whose memory is shown.

    Attributes:
        session_id: the number by which the session is listed and revoked.
        principal: the holder of the key that opened the session, or whoever runs the machine.
        user_id: the user whose memory is shown; None for an admin who has named nobody.
        created_at: when the session was opened.
        expires_at: when the session ends.
        used_at: when the session was used, to the minute.
    """

    session_id: int
    principal: Principal = field(repr=False)
    user_id: str | None
    created_at: datetime
    expires_at: datetime
    used_at: datetime

    @property
    def is_looking_at_other(self) -> bool:
        """Return whether an admin looks at the memory of a user."""
        return self.principal.role == "admin" and self.user_id is not None


@dataclass(frozen=True, slots=True)
class ListedSession:
    """A session as it is listed: never its secret. `label` is that of its key."""

    session_id: int
    key_id: int | None
    label: str | None
    role: Role
    user_id: str | None
    created_at: datetime
    expires_at: datetime
    used_at: datetime


@dataclass(frozen=True, slots=True)
class _SessionRow:
    """The row of `identity/session_authenticate`. The columns of the key are None if a link opened the session."""

    session_id: int
    tenant_id: int
    role: Role
    user_id: str | None
    created_at: datetime
    expires_at: datetime
    used_at: datetime
    key_id: int | None
    key_sha256: bytes | None
    bound_user: str | None


async def open_session(database: Database, principal: Principal, user_id: str | None) -> str:
    """Open a session for the holder of a key that shows the memory of a user, and return its secret."""
    secret = new_secret()
    async with database.maintenance() as connection:
        await row(
            connection,
            "identity/session_add",
            tenant_id=principal.tenant_id,
            token_sha256=key_digest(secret),
            key_id=principal.key_id,
            role=principal.role,
            user_id=user_id,
            lifetime_s=SESSION_LIFETIME_S,
        )
    return secret


async def read_session(database: Database, secret: str) -> BrowserSession:
    """Return the session of a secret.

    Raises:
        Unauthenticated: the session is unknown or has ended, or its key was revoked.
    """
    async with database.connection() as connection:
        found = await row_as(
            _SessionRow, connection, "identity/session_authenticate", token_sha256=key_digest(secret)
        )
    if found is None:
        raise Unauthenticated(SESSION_ENDED, hint=SESSION_HINT)
    principal = Principal(found.tenant_id, found.role, found.key_id, found.bound_user, found.key_sha256)
    return BrowserSession(
        found.session_id, principal, found.user_id, found.created_at, found.expires_at, found.used_at
    )


async def touch_session(database: Database, session: BrowserSession) -> None:
    """Note that a session is used."""
    async with database.maintenance() as connection:
        await connection.execute(sql("identity/session_touch"), _key(session))


async def show_user(database: Database, session: BrowserSession, user_id: str | None) -> None:
    """Let a session show the memory of another user, or of nobody."""
    async with database.maintenance() as connection:
        await connection.execute(sql("identity/session_show"), _key(session) | {"user_id": user_id})


async def list_sessions(
    database: Database, tenant_id: int, *, key_id: int | None = None
) -> Sequence[ListedSession]:
    """Return the open sessions of a tenant, the newest first: those of one key, or of all."""
    async with database.maintenance() as connection:
        return await rows_as(
            ListedSession, connection, "identity/session_list", tenant_id=tenant_id, key_id=key_id
        )


async def revoke_session(
    database: Database, tenant_id: int, session_id: int, *, key_id: int | None = None
) -> None:
    """End a session of a tenant: one of a key, or any.

    Raises:
        ValidationFailed: there is no such session, or it has ended.
    """
    async with database.maintenance() as connection:
        revoked = await row(
            connection,
            "identity/session_revoke",
            tenant_id=tenant_id,
            session_id=session_id,
            key_id=key_id,
        )
    if revoked is None:
        raise ValidationFailed(
            f"There is no open session {session_id}.", hint="Look at the list of sessions again."
        )


async def make_link(database: Database, tenant_id: int, user_id: str | None) -> str:
    """Make a link that opens one session, which shows the memory of a user; return its secret."""
    secret = new_secret()
    async with database.maintenance() as connection:
        await connection.execute(
            sql("identity/link_add"),
            {
                "tenant_id": tenant_id,
                "token_sha256": key_digest(secret),
                "user_id": user_id,
                "lifetime_s": LINK_LIFETIME_S,
            },
        )
    return secret


async def spend_link(database: Database, secret: str) -> tuple[Principal, str | None]:
    """Spend a link: return whom it signs in, an admin of its tenant, and the user whose memory is shown.

    Raises:
        Unauthenticated: the link is unknown, was spent or has expired.
    """
    async with database.maintenance() as connection:
        spent = await row(connection, "identity/link_spend", token_sha256=key_digest(secret))
    if spent is None:
        raise Unauthenticated(
            "This sign-in link was used already, or has expired.",
            hint="A link works once, and for 10 minutes. Run `memex ui` in the terminal to make another one.",
        )
    return Principal(spent["tenant_id"], "admin"), spent["user_id"]


def _key(session: BrowserSession) -> dict[str, int]:
    return {"tenant_id": session.principal.tenant_id, "session_id": session.session_id}
