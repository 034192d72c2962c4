"""A call with the scopes that it saw, taken from one database and put into another."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from memex import distribution
from memex.call_context import CallContext
from memex.errors import Refused, ValidationFailed
from memex.service.call import Caller
from memex.service.journal.marking import check_nothing_forgotten
from memex.service.log.replay.logged_snapshots import states
from memex.service.log.replay.rerun import LoggedCall, check_answered, load_call
from memex.service.service import Service
from memex.service.tools.tool import MAX_VERSION
from memex.store.access import Access
from memex.store.database import Connection, Database, row
from memex.store.identity import authentication
from memex.store.identity.authentication import Principal
from memex.store.log.call import CallAnswer
from memex.store.log.exposure import find_revisions
from memex.store.paths import VirtualPath, check_tool_call_id, parse
from memex.store.records import Operation, check_text
from memex.store.upkeep.restore import StoredScope, read_scopes, restore
from memex.store.upkeep.throwaway import throwaway_tenant
from memex.store.waiting.time_limits import UPKEEP

EXPORT = "memory_export"
CALLER = ("role", "user", "project", "channel")  # what a bundle tells of who called: no key, no actor
ROLES = ("agent", "admin")


@dataclass(frozen=True, slots=True)
class Bundle:
    """A call of the log that can be run again wherever this is.

    Attributes:
        memex: the version that exported it.
        logged: the call with the operations inside it, and the texts of the prompts that they name.
        scopes: as they stood in the states that these saw.
        texts: of the revisions that the log names and that came after those states, such as what the call wrote, by
            `path@version`.
    """

    memex: str
    logged: LoggedCall
    scopes: tuple[StoredScope, ...]
    texts: Mapping[str, str]

    @property
    def operation(self) -> Operation:
        """The call, as it was asked and answered."""
        return self.logged.operation

    @property
    def revisions(self) -> int:
        """The number of revisions of its scopes."""
        return sum(len(scope.revisions) for scope in self.scopes)


async def export_call(
    service: Service, caller: Caller, tool_call_id: str, *, own_id: str | None = None
) -> Bundle:
    """Return one of the caller's calls with all that it takes to run it again elsewhere.

    The newest attempt that was answered. The export itself is logged, with the numbers of what went out.

    An admin who names a user also exports that user's. `own_id` is the tool call id of the export itself.

    Raises:
        OperationNotFound: the caller made no such call.
        ValidationFailed: the call gave no answer, or was no caller's.
        ProjectNotFound: it saw a project that the caller cannot read any more.
        Forbidden: an agent asks, and it holds what somebody asked to forget.
    """
    given = {"call": check_tool_call_id(tool_call_id)}
    async with (
        service.recorder.recorded(caller, EXPORT, given, tool_call_id=own_id) as log,
        service.database.transaction(caller.access, snapshot=True, limits=UPKEEP) as connection,
    ):
        logged = await load_call(connection, caller.access, tool_call_id)
        check_answered(logged.operation)
        if logged.operation.principal.get("role") not in ROLES:
            raise ValidationFailed(
                f"{tool_call_id!r} is a call of the service itself.", hint="Export one of a tool."
            )
        bundle = await _collect(connection, caller.access, logged)
        await check_nothing_forgotten(service.database, caller, bundle)
        result = {"revisions": bundle.revisions, "texts": len(bundle.texts), "prompts": len(logged.prompts)}
        answer = CallAnswer(result, given, result)
        state = {scope.mount: scope.rev for scope in bundle.scopes}
        await log.add("answered", answer, state=state, connection=connection)
    return bundle


@asynccontextmanager
async def restored_database(database: Database, bundle: Bundle) -> AsyncIterator[tuple[Caller, LoggedCall]]:
    """Restore the scopes of a bundle into a throw-away tenant; yield the caller of its call, and the call.

    The caller reads what the call could read, as far as the call saw it. At the end all of that is gone.

    Raises:
        StoreUnavailable: the database went away.
    """
    who = bundle.operation.principal
    mounts = {scope.mount for scope in bundle.scopes}
    project = who.get("project")
    context = CallContext(
        user_id=who.get("user"),
        project=project if f"projects/{project}" in mounts else None,
        channel=who.get("channel"),
    )
    async with throwaway_tenant(database) as tenant_id:
        await restore(database, tenant_id, bundle.scopes)
        principal = Principal(tenant_id, who["role"])
        yield Caller(principal, await authentication.resolve(database, principal, context)), bundle.logged


async def _collect(connection: Connection, access: Access, logged: LoggedCall) -> Bundle:
    named = dict(_named(logged.operation))
    scopes = await read_scopes(connection, access, states(logged.operation), also=named)
    held = {
        f"{scope.mount}/{revision.path}@{revision.version}"
        for scope in scopes
        for revision in scope.revisions
    }
    texts = {}
    for reference in sorted(named.keys() - held):
        path, number = named[reference]
        scope = access.by_mount.get(path.mount_name)
        if scope is None:
            continue
        found = await row(
            connection, "memory/revision_read", scope_id=scope.scope_id, path=path.relative, version=number
        )
        if found is not None:
            check_text(reference, found["thinned"])
            texts[reference] = found["content"]
    told = replace(logged, operation=_without_ids(logged.operation))
    return Bundle(distribution.version(), told, tuple(scopes), texts)


def _named(operation: Operation) -> Iterator[tuple[str, tuple[VirtualPath, int]]]:
    """Yield the revisions that a call names, by `path@version`. Arguments that were refused may look like one."""
    response = operation.response or {}
    values = [
        value for logged in (operation, *operation.inner) for value in (logged.request, logged.response)
    ]
    for reference in dict.fromkeys((*find_revisions(values), *operation.saw, *response.get("writes", ()))):
        path, _, number = reference.rpartition("@")
        try:
            parsed = parse(path)
        except Refused:
            continue
        if str(parsed) == path and 1 <= int(number) <= MAX_VERSION:
            yield reference, (parsed, int(number))


def _without_ids(operation: Operation) -> Operation:
    """Return a call without what means something only where it was made: numbers of rows, the key, the actor."""
    return replace(
        operation,
        operation_id=0,
        principal={name: operation.principal[name] for name in CALLER if name in operation.principal},
        inner=tuple(replace(step, operation_id=0) for step in operation.inner),
    )
