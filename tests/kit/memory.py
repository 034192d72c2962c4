"""What most tests of memory do: write files, many in one commit, and open projects."""

import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from memex.service.service import Caller, Service
from memex.store.identity import tenants
from memex.store.log.call import Call, CallAnswer, CallRequest
from memex.store.writes.draft import Draft


async def write(service: Service, caller: Caller, path: str, content: str) -> None:
    """Write a whole file by memory_write, also over an existing one."""
    arguments = {"path": path, "content": content, "overwrite": True}
    await service.execute(caller, "memory_write", arguments)


async def remember(
    service: Service, caller: Caller, text: str, *, call: str | None = None, **more: Any
) -> dict[str, Any]:
    """Run memory_remember; `call` is the tool call id."""
    return await service.execute(caller, "memory_remember", {"text": text, **more}, tool_call_id=call)


async def run_tool(
    service: Service, caller: Caller, tool: str, call_id: str, **arguments: Any
) -> dict[str, Any]:
    """Run a tool, named without `memory_`, under a tool call id."""
    return await service.execute(caller, f"memory_{tool}", arguments, tool_call_id=call_id)


def person(caller: Caller) -> Caller:
    """Return a caller as a person who is signed in to the web UI, and reads what was forgotten too."""
    return replace(caller, access=replace(caller.access, channel="user"))


def skipped(text: str, answer: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the parts of a text that memory_remember skipped, and why."""
    return [(text[skip["start"] : skip["end"]], skip["reason"]) for skip in answer["skipped"]]


async def write_each(service: Service, caller: Caller, files: Mapping[str, str]) -> None:
    """Write whole files by one memory_write each."""
    for path, content in files.items():
        await write(service, caller, path, content)


async def put(service: Service, caller: Caller, files: Mapping[str, str | None]) -> None:
    """Write whole files, or delete those with None, in one commit."""
    draft = Draft(service.database, caller.access)
    for path, content in files.items():
        if content is None:
            draft.delete(path)
        else:
            draft.write(path, content, overwrite=True)
    await commit_draft(draft, caller)


async def commit_draft(draft: Draft, caller: Caller) -> None:
    """Commit a draft under a tool call id of its own."""
    call = Call(CallRequest(f"put-{uuid.uuid4()}", "put", {}, caller.logged, datetime.now(UTC)))
    await draft.commit(call, lambda _: CallAnswer({}, {}, {}))


async def open_project(service: Service, admin: Caller, slug: str, *members: str) -> None:
    """Open a project with these users as its members."""
    await service.administer(admin, "open", {}, lambda c, a: tenants.open_project(c, a, slug))
    for user_id in members:
        await service.administer(
            admin, "add", {}, lambda c, a, user_id=user_id: tenants.add_member(c, a, slug, user_id)
        )
