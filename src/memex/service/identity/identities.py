"""Holders of keys and accesses of callers, kept in memory for the calls that come most often.

Nothing is answered by what is kept alone, except that a caller comes too often (`RateLimits.look`). A cached holder
is used only by routes that run a tool, and a cached access only for running one. Each transaction of the tool has
the database compare the access epoch. An error that comes before any transaction is raised only after the key, or
the access, was looked up again. So a change is heeded by the next call in each process, and no process has to tell
another one; see `identity.authentication`.

What is refused is never kept: an unknown key costs a look-up each time.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from typing import Any, Generic, TypeVar

from memex.call_context import CallContext
from memex.errors import AccessChanged, Refused, Unauthenticated, UserErased
from memex.metrics import Metrics
from memex.service.call import Caller
from memex.store.access import Access, Channel
from memex.store.database import Database
from memex.store.identity import authentication
from memex.store.identity.authentication import Principal
from memex.store.log.call import Call

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")

ACTOR = "memex"  # of calls that nobody made
MAX_KEPT = 4_096  # keys, and accesses; an access takes about 2 KB
MAX_SCOPES = (
    50  # of an access that is kept: that of an admin of a thousand projects is made anew for each call
)
MAX_RENEWALS = 3  # of the rights of a caller in one call

# What an access is made of: the holder of the key, and user, actor, project and channel of the context.
_Asked = tuple[Principal, str | None, str | None, str | None, Channel]


class _Recent(Generic[K, V]):
    """The values that were used last, by their keys."""

    def __init__(self) -> None:
        self._values: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        """Return the value of a key, None if there is none any more."""
        if (value := self._values.get(key)) is not None:
            self._values.move_to_end(key)
        return value

    def put(self, key: K, value: V) -> None:
        """Keep a value; the one that was used least lately goes if there are too many."""
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > MAX_KEPT:
            self._values.popitem(last=False)

    def drop(self, key: K) -> None:
        """Forget a value, if it is kept."""
        self._values.pop(key, None)


class Identities:
    """Holders of keys and accesses of callers, from memory where the name of a method says so.

    `language` is that of the files of users who write for the first time.
    """

    def __init__(self, database: Database, metrics: Metrics, *, language: str) -> None:
        self._database = database
        self._metrics = metrics
        self.language = language
        self.agents_make_projects = False  # by their keys; see MEMEX_AGENT_PROJECTS
        self._holders: _Recent[bytes, Principal] = _Recent()
        self._accesses: _Recent[_Asked, Access] = _Recent()

    async def authenticate(self, secret: str) -> Principal:
        """Look up who holds a key, and keep it; raises Unauthenticated."""
        digest = authentication.key_digest(secret)
        try:
            holder = await authentication.authenticate(self._database, secret)
        except Unauthenticated:
            self._metrics.add_unauthenticated()
            self._holders.drop(digest)
            raise
        self._holders.put(digest, holder)
        return holder

    def kept_holder(self, secret: str) -> Principal | None:
        """Return who held a key when it was looked up last, None if it is not kept; only to refuse by it."""
        return self._holders.get(authentication.key_digest(secret))

    async def cached_holder(self, secret: str) -> Principal:
        """Return who holds a key, or held it when it was looked up; raises Unauthenticated if it has to be."""
        return self.kept_holder(secret) or await self.authenticate(secret)

    async def resolve(
        self,
        principal: Principal,
        context: CallContext,
        *,
        makes_user: bool = False,
        makes_conversations: bool = False,
        makes_documents: str | None = None,
    ) -> Access:
        """Look up what a call may touch; see `authentication.resolve`."""
        return await authentication.resolve(
            self._database,
            principal,
            context,
            language=self.language,
            makes_user=makes_user,
            makes_conversations=makes_conversations,
            makes_documents=makes_documents,
        )

    async def look_up(self, principal: Principal, access: Access, **making: Any) -> Access:
        """Look up again what the caller of an access may touch; `making` and errors are those of `resolve`."""
        context = CallContext(access.user_id, access.actor, access.project, channel=access.channel)
        return await self.resolve(principal, context, **making)

    async def limited_to_user(self, caller: Caller) -> Access:
        """Return what the named user may read of what the caller reads: an admin reads the other projects too."""
        access = caller.access
        if access.role != "admin" or access.user_id is None:
            return access
        of_user = await self.resolve(caller.principal.acting_as("agent"), CallContext(access.user_id))
        return access.limited_to(tuple(scope for scope in access.scopes if scope.scope_id in of_user.by_id))

    async def memex_for(self, tenant_id: int, user_id: str) -> Caller:
        """Return the caller of what Memex does for a user without being asked; raises as `resolve`."""
        principal = Principal(tenant_id, "agent")
        return Caller(principal, await self.resolve(principal, CallContext(user_id, ACTOR)))

    async def cached_access(self, principal: Principal, context: CallContext) -> Access:
        """Return what a call may touch, or might when it was looked up; raises as `resolve` if it has to be."""
        user_id = principal.bound_user if context.user_id is None else context.user_id
        channel = context.channel or principal.role
        kept = self._accesses.get((principal, user_id, context.actor, context.project, channel))
        return kept or self._keep(principal, await self.resolve(principal, context))

    async def admit(self, caller: Caller) -> Caller:
        """Return a caller that may write: the scope of a user who never wrote is made; raises as `resolve`."""
        if not caller.access.is_visitor:
            return caller
        access = await self.look_up(caller.principal, caller.access, makes_user=True)
        return replace(caller, access=access)

    async def open_conversations(self, caller: Caller) -> Access:
        """Return an access with a scope of conversations, which is made if there is none; raises as `resolve`."""
        access = caller.access
        if access.conversations is not None:
            return access
        return await self.look_up(caller.principal, access, makes_user=True, makes_conversations=True)

    async def open_documents(self, caller: Caller, mount: str) -> Access:
        """Return an access with a scope of documents of a mount, which is made if there is none.

        Raises:
            ProjectNotFound, ValidationFailed: the caller has no such mount; also raises as `resolve`.
        """
        access = caller.access
        if access.documents_at(mount) is not None:
            return access
        makes_user = access.user_id is not None
        return await self.look_up(caller.principal, access, makes_user=makes_user, makes_documents=mount)

    async def with_conversations(self, caller: Caller) -> Access:
        """Return the access of a caller, which knows the conversations that the user has; raises as `resolve`.

        A first import changes no right that is checked, so an access from memory may not know of it.
        """
        if caller.access.conversations is not None or not caller.access.is_cached:
            return caller.access
        return await self._renew(caller.principal, caller.access)

    async def run_with_rights(self, caller: Caller, call: Call, run: Callable[[Caller], Awaitable[T]]) -> T:
        """Run a call; if the rights of its caller turn out to have changed, run it again from its start.

        `run` gets the caller with the rights that it has now, and commits at its end, if at all; the record of
        the call begins anew with each run.

        Raises:
            Unauthenticated: the key was revoked.
            AccessChanged: the rights changed in each of four runs.
            UserErased: the user is being erased, or was since the call was made.
            Refused: what `run` raises for a caller whose rights are still these.
        """
        for _ in range(MAX_RENEWALS):
            try:
                return await run(caller)
            except Unauthenticated:
                raise
            except Refused as refusal:
                if isinstance(refusal, UserErased) and not _is_over(refusal, call):
                    raise
                has_changed = isinstance(refusal, (AccessChanged, UserErased))
                # A cached access can refuse by itself: a project of which the user is a member only since.
                if not (has_changed or caller.access.is_cached):
                    raise
                access = await self._renew(caller.principal, caller.access)
                if access == caller.access and not has_changed:
                    raise
                caller = replace(caller, access=access)
                call.record.restart()
        return await run(caller)

    async def _renew(self, principal: Principal, access: Access) -> Access:
        """Look up what the caller of an access may touch now; raises as `authentication.resolve`."""
        renewed = await self.look_up(principal, access)
        return self._keep(principal, renewed) if access.is_cached else renewed

    def _keep(self, principal: Principal, access: Access) -> Access:
        asked = principal, access.user_id, access.actor, access.project, access.channel
        if (
            access.is_visitor
        ):  # its first write changes no right that is checked, and may come to another process
            self._accesses.drop(asked)
            return access
        cached = replace(access, is_cached=True)
        if len(access.scopes) <= MAX_SCOPES:
            self._accesses.put(asked, cached)
        return cached


def _is_over(refusal: UserErased, call: Call) -> bool:
    """Return whether a call was made after the end of an erasure, of which the kept access did not know."""
    finished_at = refusal.details.get("finished_at")
    return finished_at is not None and call.request.now > datetime.fromisoformat(finished_at)
