"""A folder of files in memory, and what pushes it to a service as a client does."""

import hashlib
from collections.abc import Mapping
from typing import Any

from memex.call_context import CallContext
from memex.service.call import Caller
from memex.service.conversations.lines import to_lines
from memex.service.documents import pushing, reading
from memex.service.documents.pushing import FinishResult
from memex.service.service import Service
from memex.store.access import Access, Scope

Folder = Mapping[str, str]


def digest(text: str) -> str:
    """Return the digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def listed(folder: Folder) -> bytes:
    """Return the manifest of a folder."""
    return to_lines([{"path": path, "sha256": digest(folder[path])} for path in sorted(folder)])


def sent(folder: Folder, **more: Any) -> list[dict[str, Any]]:
    """Return the files of a folder as they are sent."""
    return [{"path": path, "sha256": digest(text), "text": text} | more for path, text in folder.items()]


async def current(service: Service, caller: Caller) -> Caller:
    """Return a caller who knows of the documents that were pushed, as each request over HTTP does."""
    context = CallContext(user_id=caller.access.user_id, actor="tests", project=caller.access.project)
    return await service.caller(caller.principal, context, role=caller.access.role)


async def push(
    service: Service,
    caller: Caller,
    folder: Folder,
    *,
    root: str = "repo",
    project: str | None = None,
    client: str = "",
    prune: bool = False,
    batch: int = 100,
) -> FinishResult:
    """Make a root equal to a folder: compare, send renames and texts in batches, finish."""
    named = {"root": root, "project": project}
    compared = await pushing.COMPARE.call(service, caller, named | {"client": client}, listed(folder))
    free = set(compared.gone)
    files = []
    for one in compared.wanted:
        old = next((path for path in one.same_as if path in free), None)
        if old is None:
            files += sent({one.path: folder[one.path]})
        else:
            free.discard(old)
            files.append({"path": one.path, "sha256": digest(folder[one.path]), "renamed_from": old})
    for start in range(0, len(files), batch):
        lines = to_lines(files[start : start + batch])
        done = await pushing.PUT.call(service, caller, named | {"sync": compared.sync}, lines)
        assert all(one.change != "refused" for one in done.files), done
    caller = await current(service, caller)
    finished = await pushing.FINISH.call(service, caller, named | {"sync": compared.sync, "prune": prune})
    while finished.remaining:
        finished = await pushing.FINISH.call(service, caller, named | {"sync": compared.sync, "prune": prune})
    return finished


async def stored(
    service: Service, caller: Caller, *, root: str = "repo", project: str | None = None
) -> dict[str, str]:
    """Return the documents of a root with their texts."""
    caller = await current(service, caller)
    found = await reading.LIST.call(service, caller, {"root": root, "project": project, "limit": 1_000})
    return {
        one.path: (
            await reading.READ.call(service, caller, {"root": root, "project": project, "path": one.path})
        ).text
        for one in found.documents
    }


async def scope_of(service: Service, caller: Caller, mount: str = "user") -> tuple[Access, Scope]:
    """Return an access to the documents of a mount alone, and their scope."""
    access = await service.identities.open_documents(caller, mount)
    scope = access.documents_at(mount)
    assert scope is not None
    return access.limited_to((scope,)), scope
