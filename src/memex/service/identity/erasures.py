"""Erasing a user for good, as an admin of the tenant asks for it, and the receipts."""

from collections import Counter
from dataclasses import replace

from memex.call_context import CallContext
from memex.errors import Forbidden, ValidationFailed
from memex.service.call import UNBOUND_HINT, Caller, check_role
from memex.service.service import Service
from memex.service.tools.cursor import from_cursor, to_cursor
from memex.service.tools.tool import ResultPart
from memex.store.paths import check_id
from memex.store.upkeep import erasure
from memex.store.upkeep.erasure import Erasure

MAX_RECEIPTS = 1_000  # of one page


class ErasedCounts(ResultPart):
    """The numbers of things that are removed with a user.

    `files` are those of the user's own memory, `revisions` all their versions, `passages` and `vectors` what
    search made of them, `conversations` with their `messages` those that were imported, `documents` those that are
    mirrored for the user alone. `calls` is the number of
    calls in the log, `log_rows` with what is inside them, and `queued` those that waited. `prompts` are texts for
    models that no other call names; they are counted only when they are removed. `keys`, `memberships`,
    `sessions` and `quotas` are the user's. `revisions_of_others` stay: they are in projects and shared files, and
    do not say any more who wrote them.
    """

    files: int = 0
    revisions: int = 0
    passages: int = 0
    vectors: int = 0
    conversations: int = 0
    messages: int = 0
    documents: int = 0
    calls: int = 0
    log_rows: int = 0
    queued: int = 0
    prompts: int = 0
    keys: int = 0
    memberships: int = 0
    sessions: int = 0
    quotas: int = 0
    revisions_of_others: int = 0


class ErasureResult(ResultPart):
    """The erasure of a user. `status` is `erased`, or `dry_run` for what would be removed, or `unfinished`.

    `receipt` is the number of the receipt, which stays in the database and holds these values and no text.
    """

    user: str
    status: str
    receipt: int | None
    begun_at: str | None
    finished_at: str | None
    counts: ErasedCounts


class ErasuresResult(ResultPart):
    """The receipts of a tenant, the newest first; `next_cursor` is null after the last."""

    erasures: list[ErasureResult]
    next_cursor: str | None


async def erase_user(service: Service, caller: Caller, user: str, *, dry_run: bool = False) -> ErasureResult:
    """Erase a user for good, or finish an erasure that was interrupted; the log does not name the user.

    Raises:
        Forbidden: the caller is no admin, or its key is bound to a user.
        ValidationFailed: nothing of such a user is stored.
    """
    check_id(user, "user id")
    caller = await _without_user(service, caller)
    async with service.recorder.recorded(caller, "user_erase", {"dry_run": dry_run}) as log:
        _check_eraser(caller)
        database, tenant_id = service.database, caller.access.tenant_id
        unfinished = await erasure.find_open(database, tenant_id, user)
        counts = await erasure.count(database, tenant_id, user)
        if unfinished is None and counts is None:
            raise ValidationFailed(
                "Nothing of this user is stored.", hint="See the users with `memex users`."
            )
        if dry_run:
            result = _render_counted(user, unfinished, counts or {})
        else:
            result = _render(await erasure.erase(database, tenant_id, user, key_id=caller.principal.key_id))
        await log.add("committed" if not dry_run else "dry_run")
    return result


async def list_erasures(
    service: Service, caller: Caller, *, limit: int = 100, cursor: str | None = None
) -> ErasuresResult:
    """Return a page of the tenant's receipts; raises Forbidden as `erase_user`."""
    before = from_cursor(cursor, int)[0] if cursor is not None else None
    caller = await _without_user(service, caller)
    async with service.recorder.recorded(caller, "erasure_list", {"limit": limit}) as log:
        _check_eraser(caller)
        found = await erasure.list_erasures(
            service.database, caller.access.tenant_id, limit=limit + 1, before=before
        )
        await log.add("committed")
    page = found[:limit]
    next_cursor = to_cursor(page[-1].erasure_id) if len(found) > limit else None
    return ErasuresResult(erasures=list(map(_render, page)), next_cursor=next_cursor)


async def _without_user(service: Service, caller: Caller) -> Caller:
    """Return an admin who looks at nobody's memory, so that the log does not name the user who is erased."""
    is_free = caller.principal.role == "admin" and caller.principal.bound_user is None
    if caller.access.user_id is None or not is_free:
        return caller
    context = CallContext(None, caller.access.actor, channel=caller.access.channel)
    return replace(caller, access=await service.identities.resolve(caller.principal, context))


def _check_eraser(caller: Caller) -> None:
    check_role(caller.principal, "admin")
    if caller.principal.bound_user is not None:
        raise Forbidden(
            "A key that is bound to a user cannot erase users.",
            hint=UNBOUND_HINT,
        )


def _render_counted(user: str, unfinished: Erasure | None, counts: dict[str, int]) -> ErasureResult:
    """Return what would be removed, together with what an interrupted erasure has removed already."""
    removed = unfinished.counts if unfinished else {}
    return ErasureResult(
        user=user,
        status="dry_run" if unfinished is None else "unfinished",
        receipt=unfinished.erasure_id if unfinished else None,
        begun_at=unfinished.begun_at.isoformat() if unfinished else None,
        finished_at=None,
        counts=ErasedCounts(**Counter(counts) + Counter(removed)),
    )


def _render(found: Erasure) -> ErasureResult:
    return ErasureResult.taken_from(
        found,
        user=found.user_id,
        status="unfinished" if found.finished_at is None else "erased",
        receipt=found.erasure_id,
        counts=ErasedCounts(**found.counts),
    )
