"""Refusals by the head of a request alone: of callers that come too often, or that would wait too long.

A body of megabytes takes milliseconds to read and to parse, and a refusal should cost less. The connection stays
good for the next request: uvicorn throws the rest of the body away as it comes, within the time limits of bodies.
"""

from fastapi import Request

from memex.errors import RateLimited
from memex.service.service import BY_NAME, Service
from memex.service.tools.aliases import ALIASES
from memex.store.identity.authentication import Principal

READING = ("GET", "HEAD", "OPTIONS")


def writes(tool: str) -> bool:
    """Return whether a tool writes; false for a name of none."""
    found = BY_NAME.get(ALIASES[tool].tool if tool in ALIASES else tool)
    return found is not None and not found.is_read_only


def call_writes(request: Request) -> bool:
    """Return whether a request runs a tool that writes, by the tool that its path names, or by its method."""
    if request.method in READING:
        return False
    tool = request.path_params.get("tool")
    return tool is None or writes(tool)


def body_bytes(request: Request) -> int:
    """Return the size of the body that the head names; 1 if it is in parts of unknown sizes."""
    given = request.headers.get("content-length", "")
    if given.isdigit():
        return int(given)
    return int("transfer-encoding" in request.headers)


def look(request: Request, service: Service, holder: Principal, *, writes: bool) -> None:
    """Raise RateLimited if a request will be refused whatever its body says."""
    service.rate_limits.look(holder, _user(request), writes=writes, body_bytes=body_bytes(request))


def early_refusal(request: Request, service: Service, key: str) -> RateLimited | None:
    """Return the refusal of a request that comes too often by a key that is known here, without a query."""
    holder = service.identities.kept_holder(key)
    if holder is None:
        return None
    try:
        look(request, service, holder, writes=False)
    except RateLimited as refused:
        return refused
    return None


async def refuse_overload(request: Request, service: Service, holder: Principal) -> None:
    """Raise Overloaded if the first query of a call would wait too long; the user may be unknown yet."""
    user = holder.bound_user if holder.bound_user is not None else _user(request)
    await service.database.refuse_overload((holder.tenant_id, user))


def _user(request: Request) -> str | None:
    """Return the user whom the headers name; None if that is nobody, or malformed, which is refused later."""
    named = request.headers.getlist("memex-user")
    try:
        return named[0].encode("latin-1").decode("utf-8") if len(named) == 1 else None
    except UnicodeDecodeError:
        return None
