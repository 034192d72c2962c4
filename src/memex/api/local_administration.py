"""What whoever runs a service asks of it, over a service in this process: its health, and erasing a user."""

# ruff: noqa: D102  # `MemexApi` says what each method does

from abc import ABC, abstractmethod

from memex.api.protocol import Document
from memex.call_context import CallContext
from memex.service.health.health import read_health
from memex.service.identity import erasures
from memex.service.service import Caller, Service


class LocalAdministration(ABC):
    """The part of `LocalMemex` that looks after the service."""

    @abstractmethod
    async def caller(
        self, context: CallContext, action: str = "call", *, from_cache: bool = False
    ) -> tuple[Service, Caller]:
        """Return the service, and who makes a call; see `Service.caller`."""

    async def health(self, context: CallContext) -> Document:
        service, caller = await self.caller(context)
        return (await read_health(service, caller)).model_dump(mode="json")

    async def erase_user(self, context: CallContext, user: str, *, dry_run: bool = False) -> Document:
        service, caller = await self.caller(context)
        done = await erasures.erase_user(service, caller, user, is_dry_run=dry_run)
        return done.model_dump(mode="json")

    async def list_erasures(
        self, context: CallContext, *, limit: int = 100, cursor: str | None = None
    ) -> Document:
        service, caller = await self.caller(context)
        found = await erasures.list_erasures(service, caller, limit=limit, cursor=cursor)
        return found.model_dump(mode="json")
