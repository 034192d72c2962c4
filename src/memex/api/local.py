"""The API over a service in this process."""

# ruff: noqa: D102  # `MemexApi` says what each method does

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Any, Self

from memex.api.protocol import Document
from memex.call_context import CallContext
from memex.errors import Forbidden, ValidationFailed
from memex.service.evals import case_requests
from memex.service.evals.call_cases import CaseChoice
from memex.service.identity.keys import render_key
from memex.service.identity.me import read_me
from memex.service.log.replay.bundle import export_call
from memex.service.log.replay.bundle_archive import pack_bundle
from memex.service.operations import run_operation
from memex.service.service import Caller, Service
from memex.service.vaults.vault_export import Writer, export_files
from memex.service.vaults.vault_import import import_vault
from memex.settings import Settings
from memex.store.access import Role
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal


class LocalMemex:
    """The API over a running service, for whoever holds a key.

    The calls need `role`. For a connection that is set up for one user, `nobody_hint` says what to do if it names
    no user.
    """

    def __init__(
        self, service: Service, principal: Principal, *, role: Role, nobody_hint: str | None = None
    ) -> None:
        self._service = service
        self._principal = principal
        self._role = role
        self._nobody_hint = nobody_hint
        self._own_operations: Mapping[str, Callable[..., Awaitable[Document]]] = {}

    async def caller(
        self, context: CallContext, action: str = "call", *, from_cache: bool = False
    ) -> tuple[Service, Caller]:
        """Return the service, and who makes a call; see `Service.caller`."""
        try:
            caller = await self._service.caller(
                self._principal,
                context,
                role=self._role,
                action=action,
                tool_call_id=context.tool_call_id,
                from_cache=from_cache,
            )
        except ValidationFailed as error:
            is_named = context.user_id is not None or self._principal.bound_user is not None
            if self._nobody_hint is None or self._role == "admin" or is_named:
                raise
            # No argument of a model could mend this: the connection was set up for nobody.
            raise Forbidden(
                "This connection says for nobody whose memory it is.", hint=self._nobody_hint
            ) from error
        self._service.rate_limits.count_request(caller)
        return self._service, caller

    async def call(
        self,
        context: CallContext,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        lines: bytes | None = None,
    ) -> Document:
        given = {argument: value for argument, value in (arguments or {}).items() if value is not None}
        if name in self._own_operations:
            return await self._own_operations[name](**given)
        service, caller = await self.caller(context, name)
        done = await run_operation(service, caller, name, given, lines, tool_call_id=context.tool_call_id)
        return done if isinstance(done, dict) else done.model_dump(mode="json")

    async def me(self, context: CallContext) -> Document:
        service, caller = await self.caller(context)
        return (await read_me(service, caller.principal, caller)).model_dump(mode="json")

    async def execute(self, context: CallContext, tool: str, arguments: Mapping[str, Any]) -> Document:
        service, caller = await self.caller(context, tool, from_cache=True)
        return await service.execute(caller, tool, dict(arguments), tool_call_id=context.tool_call_id)

    async def export_call(self, context: CallContext, tool_call_id: str) -> bytes:
        service, caller = await self.caller(context)
        bundle = await export_call(service, caller, tool_call_id, own_id=context.tool_call_id)
        return await asyncio.to_thread(pack_bundle, bundle)

    async def make_case(self, context: CallContext, tool_call_id: str, choice: Mapping[str, Any]) -> bytes:
        service, caller = await self.caller(context)
        return await case_requests.pack_case(service, caller, tool_call_id, CaseChoice.of(**choice))

    async def import_vault(self, context: CallContext, source: Path | bytes, **options: Any) -> Document:
        service, caller = await self.caller(context)
        done = await import_vault(service, caller, source, tool_call_id=context.tool_call_id, **options)
        return done.model_dump(mode="json")

    async def export_files(self, context: CallContext, writer: Writer, **options: Any) -> Document:
        service, caller = await self.caller(context)
        done = await export_files(service, caller, writer, tool_call_id=context.tool_call_id, **options)
        return done.model_dump(mode="json")


class OwnedMemex(LocalMemex):
    """The API over a service that this object starts and ends, for whoever runs this process: no key is needed.

    The service starts with `async with` or with the first call, and again with a call after `close`.

    Args:
        start: returns the service as a context manager.
        tenant: the name of the tenant.
        role: the role in which the process acts.
        is_tenant_made: make the tenant at the start if it is missing.
    """

    def __init__(
        self,
        start: Callable[[], AbstractAsyncContextManager[Service]],
        tenant: str,
        *,
        role: Role,
        is_tenant_made: bool,
    ) -> None:
        self._start = start
        self._tenant = tenant
        self._role = role
        self._is_tenant_made = is_tenant_made
        self._open = AsyncExitStack()
        self._starting = asyncio.Lock()
        self._running: tuple[Service, asyncio.AbstractEventLoop] | None = None
        self._tenant_id: int | None = None
        self._own_operations = {  # who has the database needs no key, and no user
            "key_create": self._create_key,
            "key_list": self._list_keys,
            "key_revoke": self._revoke_key,
        }

    async def __aenter__(self) -> Self:
        """Start the service."""
        await self.service()
        return self

    async def __aexit__(self, *_: object) -> None:
        """End the service."""
        await self.close()

    async def close(self) -> None:
        """End the service. A later call starts it anew."""
        async with self._starting:
            self._running = self._tenant_id = None
            await self._open.aclose()

    async def service(self) -> Service:
        """Return the service, started if it does not run; raises ValidationFailed in another event loop."""
        async with self._starting:
            loop = asyncio.get_running_loop()
            if self._running is None:
                try:
                    service = await self._open.enter_async_context(self._start())
                    if self._is_tenant_made:
                        self._tenant_id = await tenants.ensure_tenant(service.database, self._tenant)
                except BaseException:
                    await self._open.aclose()
                    raise
                self._running = service, loop
            service, opened_in = self._running
        if opened_in is not loop:
            raise ValidationFailed(
                "This Memex was started in another event loop.",
                hint="Make one for each asyncio.run, or close it before the first one ends.",
            )
        return service

    async def caller(
        self,
        context: CallContext,
        action: str = "call",  # noqa: ARG002  # the process itself is refused by its own mistake, and not under a tool's name
        *,
        from_cache: bool = False,
    ) -> tuple[Service, Caller]:
        service = await self.service()
        if self._tenant_id is None:
            self._tenant_id = await tenants.find_tenant(service.database, self._tenant)
        principal = Principal(self._tenant_id, self._role)
        return service, await service.caller(principal, context, from_cache=from_cache)

    async def _create_key(self, role: Role, user: str | None = None, label: str | None = None) -> Document:
        """Make a key, and its tenant if it is missing; not logged, since no caller of the tenant made it."""
        database = (await self.service()).database
        secret, key = await tenants.create_key(database, self._tenant, role, user_id=user, label=label)
        return {"key": secret, "tenant": self._tenant, **render_key(key)}

    async def _list_keys(self) -> Document:
        found = await tenants.list_keys((await self.service()).database, self._tenant)
        return {"tenant": self._tenant, "keys": list(map(render_key, found))}

    async def _revoke_key(self, key_id: int) -> Document:
        revoked = await tenants.revoke_key((await self.service()).database, self._tenant, key_id)
        return {"tenant": self._tenant, **render_key(revoked)}


def with_database(settings: Settings, database_url: str | None, data_dir: str | Path | None) -> Settings:
    """Return the settings with the database that the caller names."""
    given = {"database_url": database_url, "data_dir": None if data_dir is None else Path(data_dir)}
    changed: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if data_dir is not None and database_url is None:
        changed["database_url"] = None  # a folder is named, so it is meant whatever the environment says
    if changed:
        changed["agent_database_url"] = None  # of the database of the environment
    return settings.model_copy(update=changed)
