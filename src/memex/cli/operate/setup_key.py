"""Check the key that a client is set up with: a key of nobody or of another user is noticed early."""

import os
from typing import TYPE_CHECKING, Any

from memex.cli.output import program_name

if TYPE_CHECKING:
    from memex.setup.clients import Connection

PATIENCE_S = 5.0


def key_warnings(connection: "Connection") -> list[str]:
    """Return what is wrong with the key for a service, as the service says. Without a key nothing can be asked."""
    import asyncio

    from memex.errors import MemexError, Unauthenticated

    key = connection.key or os.environ.get("MEMEX_API_KEY")
    if connection.url is None or not key:
        return []
    try:
        me = asyncio.run(_me(connection.url, key))
    except Unauthenticated:
        return [f"The service at {connection.url} does not know this key, or the key is revoked."]
    except (MemexError, TimeoutError):
        return [f"No Memex answers at {connection.url} now, so the key was not checked."]
    return _judge(me, connection.user)


def holder_of(url: str, key: str) -> dict[str, Any] | None:
    """Return who holds a key, as the service says; None if it does not know the key, or does not answer."""
    import asyncio

    from memex.errors import MemexError

    try:
        return asyncio.run(_me(url, key))
    except (MemexError, TimeoutError):
        return None


async def _me(url: str, key: str) -> dict[str, Any]:
    import asyncio

    from memex.api.remote import RemoteMemex

    async with asyncio.timeout(PATIENCE_S), RemoteMemex(url.rstrip("/").removesuffix("/mcp"), key) as remote:
        return await remote.me()


def _judge(me: dict[str, Any], user: str | None) -> list[str]:
    """Return what is wrong with a key of which the service told."""
    create = f"{program_name()} keys create --role agent --user {user or me['user'] or 'NAME'}"
    if me["role"] != "agent":
        return [f"This is an administrator's key, which an agent cannot use. Make one: {create}"]
    if me["user"] is None and user is None:
        remedy = f"Make a key of yours ({create}), or name yourself with --user NAME."
        return [f"This key is bound to nobody, so no call would say whose memory it is. {remedy}"]
    if me["user"] is not None and user is not None and me["user"] != user:
        return [f"This key is bound to the user {me['user']}, so calls for {user} will be refused."]
    return []
