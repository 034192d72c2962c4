"""A fixed state of memory in a throw-away tenant: nothing else counts in its statistics, and nothing is left."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from memex.evals.states import Manifest, State
from memex.service.service import Caller
from memex.store import identity
from memex.store.database import Database
from memex.store.identity import Context, Principal
from memex.store.restore import StoredRevision, StoredScope, restore
from memex.store.throwaway import throwaway

ACTOR = "eval"
LIFETIME = timedelta(hours=12)  # of a run with a slow model


@dataclass(frozen=True, slots=True)
class Place:
    """Where a state stands: the tenant, and an agent that acts for each of its users."""

    tenant_id: int
    callers: Mapping[str, Caller]


@asynccontextmanager
async def placed(database: Database, state: State) -> AsyncIterator[Place]:
    """Put a state into a tenant of its own, and take it away at the end.

    Raises:
        StoreUnavailable: the database went away.
    """
    async with throwaway(database, lifetime=LIFETIME) as tenant_id:
        await restore(database, tenant_id, scopes_of(state))
        principal = Principal(tenant_id, "agent")
        language = state.manifest.language
        callers = {
            user: Caller(
                principal,
                await identity.resolve(
                    database, principal, Context(user_id=user, actor=ACTOR), language=language
                ),
            )
            for user in state.manifest.users
        }
        yield Place(tenant_id, callers)


def scopes_of(state: State) -> list[StoredScope]:
    """Return the scopes of a state: in each, a change a file, in the order of their paths."""
    manifest = state.manifest
    return [
        _scope(manifest, "shared", "", state.scope_files("shared")),
        *(_scope(manifest, "user", user, state.scope_files(f"users/{user}")) for user in manifest.users),
        *(
            _scope(manifest, f"projects/{slug}", slug, state.scope_files(f"projects/{slug}"), members)
            for slug, members in sorted(manifest.projects.items())
        ),
    ]


def _scope(
    manifest: Manifest, mount: str, key: str, contents: Mapping[str, str], members: tuple[str, ...] = ()
) -> StoredScope:
    revisions = tuple(
        StoredRevision(
            file_id=number,
            version=1,
            rev=number,
            rev_end=None,
            path=path,
            content=content,
            operation="create",
            deleted=False,
            counterpart=None,
            reason=None,
            actor=ACTOR,
            channel="import",
            tool_call_id=f"state_{manifest.name}",
            created_at=manifest.at,
        )
        for number, (path, content) in enumerate(contents.items(), start=1)
    )
    return StoredScope(mount, key, manifest.language, len(revisions), revisions, members)
