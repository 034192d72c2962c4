"""What whoever runs a service asks of it, over a service in this process: its health, users, quotas and secrets."""

# ruff: noqa: D102  # `MemexApi` says what each method does

from abc import ABC, abstractmethod
from collections.abc import Mapping

from memex.api.protocol import Document
from memex.call_context import CallContext
from memex.service.health.health import read_health
from memex.service.identity import erasures, quotas, users
from memex.service.secrets import policies, scan
from memex.service.service import Caller, Service
from memex.store.access import SecretPolicy


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

    async def spending(self, context: CallContext, *, days: int) -> Document:
        service, caller = await self.caller(context)
        return (await service.spending(caller, days=days)).model_dump(mode="json")

    async def list_users(
        self, context: CallContext, *, limit: int = 100, cursor: str | None = None, query: str = ""
    ) -> Document:
        service, caller = await self.caller(context)
        found = await users.list_users(service, caller, limit=limit, cursor=cursor, query=query)
        return found.model_dump(mode="json")

    async def read_user(self, context: CallContext, user: str) -> Document:
        service, caller = await self.caller(context)
        return (await users.read_user(service, caller, user)).model_dump(mode="json")

    async def list_quotas(self, context: CallContext) -> Document:
        service, caller = await self.caller(context)
        return (await quotas.list_quotas(service, caller)).model_dump(mode="json")

    async def set_quota(
        self, context: CallContext, kind: quotas.Kind, name: str, limits: Mapping[str, int]
    ) -> Document:
        service, caller = await self.caller(context)
        made = await quotas.set_quota(service, caller, kind, name, quotas.QuotaLimits(**limits))
        return made.model_dump(mode="json")

    async def show_secret_policies(self, context: CallContext) -> Document:
        service, caller = await self.caller(context)
        return (await policies.show_policies(service, caller)).model_dump(mode="json")

    async def set_secret_policies(
        self, context: CallContext, *, remember: SecretPolicy | None, files: SecretPolicy | None
    ) -> Document:
        service, caller = await self.caller(context)
        change = policies.SecretPoliciesChange(remember=remember, files=files)
        return (await policies.set_policies(service, caller, change)).model_dump(mode="json")

    async def scan_secrets(
        self,
        context: CallContext,
        *,
        all_users: bool = False,
        history: bool = False,
        cursor: str | None = None,
    ) -> Document:
        service, caller = await self.caller(context)
        found = await scan.scan(service, caller, all_users=all_users, history=history, cursor=cursor)
        return found.model_dump(mode="json")
