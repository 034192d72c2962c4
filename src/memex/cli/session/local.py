"""A session with a service in this process, which runs as long as the command."""

# ruff: noqa: D102  # `CommandSession` says what each method does

import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from memex import logging, postgres
from memex.cli.session.session import ACTOR, CommandSession, Document, Options, ReplayableKind

if TYPE_CHECKING:
    from memex.service.log.replay.bundle import Bundle
    from memex.service.log.replay.counterfactual import ChangedResult, ReplayChange
    from memex.service.log.replay.replay import ReplayResult
    from memex.service.service import Caller, Service
    from memex.service.tools.transfer import Progress, Writer
    from memex.settings import Settings
    from memex.store.access import Access
    from memex.store.database import Connection
    from memex.subagent.planner import Planner

T = TypeVar("T")


@asynccontextmanager
async def local_session(settings: "Settings", options: Options) -> AsyncIterator["LocalSession"]:
    """A session on DATABASE_URL or the embedded Postgres; raises as `running_service`."""
    logging.configure(settings.log_level)
    started = postgres.start_in_background(settings)
    from memex.wiring import running_service  # loads while the database starts

    gc.enable()
    async with running_service(settings, started=started) as service:
        yield LocalSession(**asdict(options), running=service)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSession(CommandSession):
    """A running service, and for whom the command acts. It acts as an admin, because it has the database itself."""

    running: "Service"

    @property
    def service(self) -> "Service":
        return self.running

    async def caller(self) -> "Caller":
        from memex.store.identity import tenants
        from memex.store.identity.authentication import Context, Principal

        tenant_id = await tenants.find_tenant(self.running.database, self.tenant)
        context = Context(user_id=self.user, actor=ACTOR, project=self.project, channel="user")
        return await self.running.caller(Principal(tenant_id, "admin"), context)

    async def execute(self, tool: str, **arguments: Any) -> Document:
        return await self.running.execute(
            await self.caller(), tool, arguments, tool_call_id=self.tool_call_id
        )

    async def revert(self, call: str, *, reason: str | None) -> Document:
        return await self.running.revert(
            await self.caller(), call, tool_call_id=self.tool_call_id, reason=reason
        )

    async def operations(self, *, limit: int, cursor: str | None = None) -> Document:
        page = await self.running.operations(await self.caller(), limit=limit, cursor=cursor)
        return page.model_dump(mode="json")

    async def operation(self, call: str) -> list[Document]:
        found = await self.running.operation(await self.caller(), call)
        return [attempt.model_dump(mode="json") for attempt in found]

    async def catalogue(self, *, max_chars: int) -> str:
        return await self.running.catalogue(await self.caller(), max_chars=max_chars)

    async def languages(self) -> dict[str, str]:
        return {scope.mount: scope.language for scope in (await self.caller()).access.scopes}

    async def prompt_block(self, *, budget: int | None) -> Document:
        from memex.service.tools.prompt_block import prompt_block

        block = await prompt_block(
            self.running, await self.caller(), budget=budget, tool_call_id=self.tool_call_id
        )
        return block.model_dump(mode="json")

    async def blame(self, path: str, version: int | None) -> Document:
        from memex.service.log.blame import blame

        found = await blame(self.running, await self.caller(), path, version, tool_call_id=self.tool_call_id)
        return found.model_dump(mode="json")

    async def calls_that_saw(self, path: str, version: int, *, limit: int, cursor: str | None) -> Document:
        from memex.service.log.exposure import calls_that_saw

        caller = await self.caller()
        found = await calls_that_saw(self.running, caller, path, version, limit=limit, cursor=cursor)
        return found.model_dump(mode="json")

    async def revisions_seen(self, call: str) -> Document:
        from memex.service.log.exposure import revisions_seen

        return (await revisions_seen(self.running, await self.caller(), call)).model_dump(mode="json")

    async def queue(self, *, limit: int, cursor: str | None) -> Document:
        from memex.service.log import queue

        page = await queue.list_queued_calls(self.running, await self.caller(), limit=limit, cursor=cursor)
        return page.model_dump(mode="json")

    async def retry(self, call: str) -> Document:
        from memex.service.log import queue

        return (await queue.retry_call(self.running, await self.caller(), call)).model_dump(mode="json")

    async def replayable(
        self, *, which: ReplayableKind, since: datetime | None, only_degraded: bool, limit: int
    ) -> Sequence[str]:
        from memex.service.log.replay.requests import replayable

        return await replayable(
            self.running,
            await self.caller(),
            which=which,
            since=since,
            only_degraded=only_degraded,
            limit=limit,
        )

    async def replay(self, call: str) -> "ReplayResult":
        from memex.service.log.replay.requests import replay_call

        return await replay_call(self.running, await self.caller(), call)

    async def replay_changed(
        self, call: str, change: "ReplayChange", planner: "Planner | None" = None
    ) -> "ChangedResult":
        from memex.service.log.replay.requests import replay_changed

        return await replay_changed(self.running, await self.caller(), call, change, planner=planner)

    async def import_vault(
        self, source: Path, *, into: str | None, dry_run: bool, progress: "Progress"
    ) -> Document:
        from memex.service.tools.transfer import import_vault

        done = await import_vault(
            self.running,
            await self.caller(),
            source,
            into=into,
            dry_run=dry_run,
            tool_call_id=self.tool_call_id,
            progress=progress,
        )
        return done.model_dump(mode="json")

    async def export_files(self, writer: "Writer", *, source: str | None, progress: "Progress") -> Document:
        from memex.service.tools.transfer import export_files

        done = await export_files(
            self.running,
            await self.caller(),
            writer,
            source=source,
            tool_call_id=self.tool_call_id,
            progress=progress,
        )
        return done.model_dump(mode="json")

    async def export_call(self, call: str) -> "Bundle":
        from memex.service.log.replay.bundle import export_call

        return await export_call(self.running, await self.caller(), call, own_id=self.tool_call_id)

    async def spending(self, *, days: int) -> Document:
        return (await self.running.spending(await self.caller(), days=days)).model_dump(mode="json")

    async def list_projects(self) -> Document:
        from memex.store.identity import tenants

        found = await self._administer("project_list", {}, tenants.list_projects)
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

    async def open_project(self, slug: str) -> Document:
        from memex.store.identity import tenants

        work = partial(tenants.open_project, slug=slug)
        return {"slug": slug, "created": await self._administer("project_open", {"slug": slug}, work)}

    async def close_project(self, slug: str) -> Document:
        from memex.store.identity import tenants

        work = partial(tenants.close_project, slug=slug)
        await self._administer("project_close", {"slug": slug}, work)
        return {"slug": slug, "closed": True}

    async def set_member(self, slug: str, user: str, *, member: bool) -> Document:
        from memex.store.identity import tenants

        action = "project_member_add" if member else "project_member_remove"
        change = tenants.add_member if member else tenants.remove_member
        work = partial(change, slug=slug, user_id=user)
        changed = await self._administer(action, {"slug": slug, "user": user}, work)
        return {"slug": slug, "user": user, "member": member, "changed": changed}

    async def create_key(
        self, role: Literal["agent", "admin"], user: str | None, label: str | None
    ) -> Document:
        from memex.service.keys import render_key
        from memex.store.identity import tenants

        secret, key = await tenants.create_key(
            self.running.database, self.tenant, role, user_id=user, label=label
        )
        return {"key": secret, "tenant": self.tenant, **render_key(key)}

    async def list_keys(self) -> Document:
        from memex.service.keys import render_key
        from memex.store.identity import tenants

        found = await tenants.list_keys(self.running.database, self.tenant)
        return {"tenant": self.tenant, "keys": list(map(render_key, found))}

    async def revoke_key(self, key: int) -> Document:
        from memex.service.keys import render_key
        from memex.store.identity import tenants

        revoked = await tenants.revoke_key(self.running.database, self.tenant, key)
        return {"tenant": self.tenant, **render_key(revoked)}

    async def _administer(
        self, action: str, arguments: Document, work: "Callable[[Connection, Access], Awaitable[T]]"
    ) -> T:
        return await self.running.administer(await self.caller(), action, arguments, work)
