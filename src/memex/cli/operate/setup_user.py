"""The user for whom the hooks of coding agents keep sessions, and who else is another one."""

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from memex.cli.operate.setup_key import holder_of
from memex.cli.options import UserOptions
from memex.errors import ValidationFailed

if TYPE_CHECKING:
    from memex.capture.switch import CaptureSettings


def user_note(user: str | None) -> str:
    """Return a line that says for whom the hooks keep sessions; None if only the service knows."""
    return f"Sessions are kept for {f'the user {user}' if user else 'the user of the key'}."


def hook_user(settings: "CaptureSettings") -> str | None:
    """Return for whom hooks with these settings keep sessions; None if only the service knows, and does not say."""
    return _user_at(settings.url, settings.key, settings.user)


def user_warnings(
    client: str, user: str | None, settings: "CaptureSettings", before: "CaptureSettings | None"
) -> list[str]:
    """Return for whom something else acts than the hooks do: commands, the client, and the hooks until now."""
    if user is None:
        return []
    warnings = []
    if settings.user not in (None, user):
        warnings.append(
            f"The key is bound to the user {user}, so events for {settings.user} will be refused."
        )
    others = {
        "the commands of memex act": _user_at(None, None, None),
        f"the MCP server of {client} acts": _user_of_client(client),
        "the hooks kept them until now": hook_user(before) if before else None,
    }
    warnings += [
        f"The hooks keep sessions for the user {user}, but {who} for {other}. Name one user with --user in both."
        for who, other in others.items()
        if other not in (None, user)
    ]
    return warnings


def _user_at(url: str | None, key: str | None, user: str | None) -> str | None:
    """Return for whom Memex acts that is called so: the user to whom the key is bound, or the one that is named."""
    url, key = url or os.environ.get("MEMEX_URL"), key or os.environ.get("MEMEX_API_KEY")
    bound = None
    if url:
        holder = holder_of(url, key) if key else None
        if holder is None:
            return user
        bound = holder["user"]
    return bound or user or UserOptions().user


def _user_of_client(client: str) -> str | None:
    """Return the user whom the client's own entry of Memex names; None if there is none, or it names nobody."""
    from memex.setup.change import read
    from memex.setup.clients import CLIENTS

    if client not in CLIENTS:
        return None
    for file in CLIENTS[client].files.values():
        with suppress(ValidationFailed, ValueError):  # a broken file names nobody
            if named := CLIENTS[client].named_user((read(file()) or b"").decode()):
                return named
    return None
