"""The API over a service in this process."""

# ruff: noqa: D102  # `MemexApi` says what each method does

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from datetime import datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from memex import distribution
from memex.api.local_administration import LocalAdministration
from memex.api.local_browsing import LocalBrowsing
from memex.api.local_conversations import LocalConversations
from memex.api.protocol import Document, ReplayableKind
from memex.api.work.local_work import LocalWork
from memex.call_context import CallContext
from memex.errors import Forbidden, ValidationFailed
from memex.service.identity import keys
from memex.service.identity.keys import render_key
from memex.service.log import blame, exposure, queue
from memex.service.log.call_list import CallQuery
from memex.service.log.replay.bundle import export_call
from memex.service.log.replay.bundle_archive import pack_bundle
from memex.service.log.replay.counterfactual import ReplayChange
from memex.service.log.replay.requests import replay_call, replay_changed, replayable
from memex.service.review.deciding import decide
from memex.service.review.items import Decision, ItemDecision, ItemKind
from memex.service.review.waiting import list_review
from memex.service.service import Caller, Service
from memex.service.tidy import tidy_files
from memex.service.tools.prompt_block import PromptProfile, prompt_block
from memex.service.vaults.transfer_report import Progress
from memex.service.vaults.vault_export import Writer, export_files
from memex.service.vaults.vault_import import import_vault
from memex.settings import Settings
from memex.store.access import Access, Role
from memex.store.database import Connection
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal

T = TypeVar("T")


class LocalMemex(LocalBrowsing, LocalAdministration):
    """The API over a running service, for whoever holds a key.

    Args:
        service: the service that answers.
        principal: who holds the key.
        role: the role that the calls need.
        nobody_hint: for a connection that is set up for one user: what to do if it names no user.
    """

    def __init__(
        self, service: Service, principal: Principal, *, role: Role, nobody_hint: str | None = None
    ) -> None:
        self._service = service
        self._principal = principal
        self._role = role
        self._nobody_hint = nobody_hint

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

    @property
    def conversations(self) -> LocalConversations:
        return LocalConversations(self.caller)

    @property
    def work(self) -> LocalWork:
        return LocalWork(self.caller)

    async def me(self, context: CallContext) -> Document:
        service, caller = await self.caller(context)
        principal = caller.principal
        mounts = [
            {"mount": scope.mount, "language": scope.language, "writable": scope.writable}
            for scope in caller.access.scopes
        ]
        return {
            "role": principal.role,
            "tenant": await tenants.tenant_name(service.database, principal.tenant_id),
            "user": principal.bound_user,
            "mounts": mounts,
            "version": distribution.version(),
        }

    async def execute(self, context: CallContext, tool: str, arguments: Mapping[str, Any]) -> Document:
        service, caller = await self.caller(context, tool, from_cache=True)
        return await service.execute(caller, tool, dict(arguments), tool_call_id=context.tool_call_id)

    async def tidy(self, context: CallContext, *, project: str | None, dry_run: bool) -> Document:
        service, caller = await self.caller(context, "memory_tidy")
        done = await tidy_files(
            service, caller, project=project, dry_run=dry_run, tool_call_id=context.tool_call_id
        )
        return done.model_dump(mode="json")

    async def review(
        self,
        context: CallContext,
        *,
        kind: ItemKind | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Document:
        service, caller = await self.caller(context, "review_list")
        found = await list_review(
            service, caller, kind=kind, limit=limit, cursor=cursor, tool_call_id=context.tool_call_id
        )
        return found.model_dump(mode="json")

    async def decide_review(self, context: CallContext, decisions: Mapping[str, Decision]) -> Document:
        service, caller = await self.caller(context, "review_decide")
        chosen = [ItemDecision(id=item, decision=decision) for item, decision in decisions.items()]
        done = await decide(service, caller, chosen, tool_call_id=context.tool_call_id)
        return done.model_dump(mode="json")

    async def revert(self, context: CallContext, reverted: str, *, reason: str | None = None) -> Document:
        service, caller = await self.caller(context, "memory_revert")
        return await service.revert(caller, reverted, reason=reason, tool_call_id=context.tool_call_id)

    async def operations(
        self,
        context: CallContext,
        filters: Mapping[str, Any] | None = None,
        *,
        limit: int,
        cursor: str | None = None,
    ) -> Document:
        service, caller = await self.caller(context, "memory_operations")
        query = CallQuery.of(**filters or {})
        return (await service.operations(caller, query, limit=limit, cursor=cursor)).model_dump(mode="json")

    async def operation(self, context: CallContext, tool_call_id: str) -> list[Document]:
        service, caller = await self.caller(context, "memory_operation")
        found = await service.operation(caller, tool_call_id)
        return [attempt.model_dump(mode="json") for attempt in found]

    async def replayable(
        self,
        context: CallContext,
        *,
        which: ReplayableKind = "all",
        since: datetime | None = None,
        only_degraded: bool = False,
        limit: int = 1_000,
    ) -> Sequence[str]:
        service, caller = await self.caller(context)
        return await replayable(
            service, caller, which=which, since=since, only_degraded=only_degraded, limit=limit
        )

    async def replay(self, context: CallContext, tool_call_id: str, changes: Mapping[str, Any]) -> Document:
        service, caller = await self.caller(context)
        change = ReplayChange.of(**changes)
        if change.named:
            changed = await replay_changed(service, caller, tool_call_id, change)
            return changed.model_dump(mode="json")
        return (await replay_call(service, caller, tool_call_id)).model_dump(mode="json")

    async def export_call(self, context: CallContext, tool_call_id: str) -> bytes:
        service, caller = await self.caller(context)
        bundle = await export_call(service, caller, tool_call_id, own_id=context.tool_call_id)
        return await asyncio.to_thread(pack_bundle, bundle)

    async def catalogue(self, context: CallContext, *, max_chars: int) -> str:
        service, caller = await self.caller(context)
        return await service.catalogue(caller, max_chars=max_chars)

    async def prompt_block(
        self,
        context: CallContext,
        *,
        budget: int | None = None,
        project: str | None = None,
        profile: PromptProfile | None = None,
    ) -> Document:
        service, caller = await self.caller(context, "prompt_block")
        block = await prompt_block(
            service,
            caller,
            budget=budget,
            project=project,
            profile=profile,
            tool_call_id=context.tool_call_id,
        )
        return block.model_dump(mode="json")

    async def blame(self, context: CallContext, path: str, version: int | None = None) -> Document:
        service, caller = await self.caller(context)
        found = await blame.blame(service, caller, path, version, tool_call_id=context.tool_call_id)
        return found.model_dump(mode="json")

    async def calls_that_saw(
        self,
        context: CallContext,
        path: str,
        version: int | None = None,
        *,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Document:
        service, caller = await self.caller(context)
        found = await exposure.calls_that_saw(service, caller, path, version, limit=limit, cursor=cursor)
        return found.model_dump(mode="json")

    async def revisions_seen(self, context: CallContext, tool_call_id: str) -> Document:
        service, caller = await self.caller(context)
        return (await exposure.revisions_seen(service, caller, tool_call_id)).model_dump(mode="json")

    async def queue(self, context: CallContext, *, limit: int = 100, cursor: str | None = None) -> Document:
        service, caller = await self.caller(context)
        found = await queue.list_queued_calls(service, caller, limit=limit, cursor=cursor)
        return found.model_dump(mode="json")

    async def retry(self, context: CallContext, tool_call_id: str) -> Document:
        service, caller = await self.caller(context)
        return (await queue.retry_call(service, caller, tool_call_id)).model_dump(mode="json")

    async def retry_all(self, context: CallContext) -> Document:
        service, caller = await self.caller(context)
        return (await queue.retry_all(service, caller)).model_dump(mode="json")

    async def import_vault(
        self,
        context: CallContext,
        source: Path | bytes,
        *,
        into: str | None,
        dry_run: bool,
        projects: bool,
        replace: bool,
        progress: Progress,
    ) -> Document:
        service, caller = await self.caller(context)
        done = await import_vault(
            service,
            caller,
            source,
            into=into,
            dry_run=dry_run,
            projects=projects,
            replace=replace,
            tool_call_id=context.tool_call_id,
            progress=progress,
        )
        return done.model_dump(mode="json")

    async def export_files(
        self,
        context: CallContext,
        writer: Writer,
        *,
        source: str | None,
        all_projects: bool,
        progress: Progress,
    ) -> Document:
        service, caller = await self.caller(context)
        done = await export_files(
            service,
            caller,
            writer,
            source=source,
            all_projects=all_projects,
            tool_call_id=context.tool_call_id,
            progress=progress,
        )
        return done.model_dump(mode="json")

    async def list_projects(self, context: CallContext) -> Document:
        found = await self._administer(context, "project_list", {}, tenants.list_projects)
        projects = [
            {
                "slug": project.slug,
                "files": project.files,
                "members": list(project.members),
                "created_at": project.created_at.isoformat(),
            }
            for project in found
        ]
        return {"projects": projects}

    async def open_project(self, context: CallContext, slug: str) -> Document:
        work = partial(tenants.open_project, slug=slug)
        created = await self._administer(context, "project_open", {"slug": slug}, work)
        return {"slug": slug, "created": created}

    async def close_project(self, context: CallContext, slug: str) -> Document:
        work = partial(tenants.close_project, slug=slug)
        await self._administer(context, "project_close", {"slug": slug}, work)
        return {"slug": slug, "closed": True}

    async def set_member(self, context: CallContext, slug: str, user: str, *, member: bool) -> Document:
        action = "project_member_add" if member else "project_member_remove"
        change = tenants.add_member if member else tenants.remove_member
        work = partial(change, slug=slug, user_id=user)
        changed = await self._administer(context, action, {"slug": slug, "user": user}, work)
        return {"slug": slug, "user": user, "member": member, "changed": changed}

    async def create_key(
        self, context: CallContext, role: Literal["agent", "admin"], user: str | None, label: str | None
    ) -> Document:
        service, caller = await self.caller(context)
        made = await keys.create_key(service, caller, role, user_id=user, label=label)
        return made.model_dump(mode="json")

    async def list_keys(self, context: CallContext) -> Document:
        service, caller = await self.caller(context)
        return (await keys.list_keys(service, caller)).model_dump(mode="json")

    async def revoke_key(self, context: CallContext, key: int) -> Document:
        service, caller = await self.caller(context)
        return (await keys.revoke_key(service, caller, key)).model_dump(mode="json")

    async def _administer(
        self,
        context: CallContext,
        action: str,
        arguments: Document,
        work: Callable[[Connection, Access], Awaitable[T]],
    ) -> T:
        service, caller = await self.caller(context)
        return await service.administer(caller, action, arguments, work)


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

    async def __aenter__(self) -> Self:
        """Start the service."""
        await self.service()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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

    async def create_key(
        self,
        context: CallContext,  # noqa: ARG002  # who has the database needs no key, and no user
        role: Literal["agent", "admin"],
        user: str | None,
        label: str | None,
    ) -> Document:
        """Make a key, and its tenant if it is missing; not logged, since no caller of the tenant made it."""
        database = (await self.service()).database
        secret, key = await tenants.create_key(database, self._tenant, role, user_id=user, label=label)
        return {"key": secret, "tenant": self._tenant, **render_key(key)}

    async def list_keys(self, context: CallContext) -> Document:  # noqa: ARG002  # as above
        found = await tenants.list_keys((await self.service()).database, self._tenant)
        return {"tenant": self._tenant, "keys": list(map(render_key, found))}

    async def revoke_key(self, context: CallContext, key: int) -> Document:  # noqa: ARG002  # as above
        revoked = await tenants.revoke_key((await self.service()).database, self._tenant, key)
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
