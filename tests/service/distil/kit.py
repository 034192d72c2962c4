"""Conversations to distil, and short ways to ask for it."""

from datetime import UTC, datetime, timedelta
from typing import Any

from memex.call_context import CallContext
from memex.service.conversations import putting
from memex.service.conversations.putting import ConversationInput, SourceInput
from memex.service.distil import distil as distilling
from memex.service.distil.answer import DistilResult
from memex.service.service import Caller, Service

NOW = datetime.now(UTC)
SOURCE = SourceInput(kind="chatgpt", account="anna")


def said(*turns: tuple[str, str], days_ago: float | None = 30, first: int = 1) -> list[dict[str, Any]]:
    """Return messages of a conversation, a minute apart; without a time if `days_ago` is None."""
    now = datetime.now(UTC)  # not NOW: a test that runs late in a session still says "after this"
    messages = []
    for place, (role, text) in enumerate(turns):
        message: dict[str, Any] = {"id": f"m{first + place}", "role": role, "text": text}
        if days_ago is not None:
            message["said_at"] = (now - timedelta(days=days_ago) + timedelta(minutes=place)).isoformat()
        messages.append(message)
    return messages


async def put(
    service: Service, caller: Caller, name: str, messages: list[dict[str, Any]], **more: Any
) -> tuple[str, Caller]:
    """Store a conversation, and return its id, and the caller with the right to read it."""
    read = ConversationInput.model_validate(
        {"id": name, "title": name.title(), "messages": messages, **more}, strict=False
    )
    done = await putting.put(service, caller, SOURCE, [read])
    return done.conversations[0].id, await refreshed(service, caller)


async def refreshed(service: Service, caller: Caller) -> Caller:
    """Return the caller with the rights that it has now."""
    access = caller.access
    context = CallContext(access.user_id, access.actor, access.project, channel=access.channel)
    return Caller(caller.principal, await service.identities.resolve(caller.principal, context))


async def distil(service: Service, caller: Caller, **given: Any) -> DistilResult:
    """Distil conversations."""
    return await distilling.distil(service, caller, given)


async def files(service: Service, caller: Caller) -> dict[str, str]:
    """Return the files of a caller with their texts."""
    listed = await service.execute(caller, "memory_list", {"limit": 100})
    found = {}
    for one in listed["files"]:
        read = await service.execute(caller, "memory_read", {"path": one["path"]})
        found[one["path"]] = read["content"]
    return found
