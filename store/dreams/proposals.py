"""Proposals as they are kept: their edits by group, and what became of each group."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from memex.store.access import Access, Scope
from memex.store.database import Connection, Statement, row, rows
from memex.store.sql import sql

EditState = Literal["open", "held", "applied", "rejected", "reverted", "outdated"]

LIFETIME = timedelta(days=30)  # after which a proposal is no longer decided about
MAX_PROPOSALS = 100  # that are listed


@dataclass(frozen=True, slots=True)
class StoredProposal:
    """A proposal: when and in which state it was made, its signals, and its edits as rows of `proposal_edit`."""

    scope_id: int
    proposal_id: str
    made_at: datetime
    rev: int
    planner: str
    is_expired: bool
    counts: dict[str, int]
    listed: list[dict[str, Any]]
    gate: dict[str, Any] | None
    edits: list[dict[str, Any]]

    @property
    def state(self) -> Literal["open", "expired", "decided"]:
        """Its state: `open` while a part of it is to be decided and its time has not run out."""
        if all(edit["state"] not in ("open", "held") for edit in self.edits):
            return "decided"
        return "expired" if self.is_expired else "open"

    def parts(self) -> dict[int, list[dict[str, Any]]]:
        """Return its edits by their groups."""
        found: dict[int, list[dict[str, Any]]] = {}
        for edit in self.edits:
            found.setdefault(edit["part"], []).append(edit)
        return found


async def add(connection: Connection, access: Access, scope: Scope, proposal: StoredProposal) -> bool:
    """Keep a proposal; return whether it is kept: not beside another one that is open."""
    found = await rows(
        connection,
        "dreams/proposal_add",
        scope_id=scope.scope_id,
        tenant_id=access.tenant_id,
        proposal_id=proposal.proposal_id,
        made_at=proposal.made_at,
        rev=proposal.rev,
        planner=proposal.planner,
        counts=json.dumps(proposal.counts),
        listed=json.dumps(proposal.listed),
        gate=None if proposal.gate is None else json.dumps(proposal.gate),
        edits=json.dumps(proposal.edits),
    )
    return bool(found)


async def read(
    connection: Connection, access: Access, *, proposal_id: str | None = None, now: datetime
) -> list[StoredProposal]:
    """Return the proposals of the caller's mounts, the newest first; with an id that one alone, if it is there."""
    found = await rows(
        connection,
        "dreams/proposal_list",
        scope_ids=[scope.scope_id for scope in access.scopes],
        proposal_id=proposal_id,
        limit=MAX_PROPOSALS,
    )
    old = now - LIFETIME
    return [
        StoredProposal(**record | {"is_expired": record["is_expired"] or record["made_at"] < old})
        for record in found
    ]


def settle_statement(
    scope_id: int,
    proposal_id: str,
    parts: Sequence[int],
    state: EditState,
    now: datetime,
    tool_call_id: str | None = None,
) -> Statement:
    """Return the statement that says what became of groups of a proposal."""
    return "dreams/edit_settle", {
        "scope_id": scope_id,
        "proposal_id": proposal_id,
        "parts": list(parts),
        "state": state,
        "now": now,
        "tool_call_id": tool_call_id,
    }


async def settle(connection: Connection, statement: Statement) -> set[int]:
    """Carry out a statement of `settle_statement`; return the groups about which no other decision came first."""
    return {record["part"] for record in await rows(connection, statement[0], **statement[1])}


async def refused(connection: Connection, scope: Scope) -> set[tuple[str, str, str]]:
    """Return what was rejected or taken back in a mount: kind, path and the line that would have changed."""
    found = await rows(connection, "dreams/edit_refused", scope_id=scope.scope_id)
    return {
        (record["kind"], record["path"], change.get("old") or change.get("new") or "")
        for record in found
        for change in record["change"]
        if change["does"] != "need"
    }


@dataclass(frozen=True, slots=True)
class MountChoice:
    """The choice for a mount: who decides, which kinds are applied by themselves, until when it is paused."""

    mode: Literal["off", "propose", "auto"] = "off"
    auto_kinds: tuple[str, ...] = ()
    paused_until: datetime | None = None
    seen_rev: int = 0
    dreamt_at: datetime | None = None


async def choices(connection: Connection, scopes: Sequence[Scope]) -> dict[str, MountChoice]:
    """Return what was chosen for mounts, by mount."""
    by_id = {scope.scope_id: scope.mount for scope in scopes}
    found = {
        by_id[one["scope_id"]]: MountChoice(
            one["mode"], tuple(one["auto_kinds"]), one["paused_until"], one["seen_rev"], one["dreamt_at"]
        )
        for one in await rows(connection, "dreams/mount_read", scope_ids=list(by_id))
    }
    return {scope.mount: found.get(scope.mount, MountChoice()) for scope in scopes}


async def choose(
    connection: Connection,
    access: Access,
    scope: Scope,
    *,
    mode: str | None,
    auto_kinds: Sequence[str] | None,
    paused_until: datetime | None,
) -> None:
    """Choose who decides in a mount, and until when no dream begins there; None leaves mode and kinds alone."""
    await connection.execute(
        sql("dreams/mount_choose"),
        {
            "scope_id": scope.scope_id,
            "tenant_id": access.tenant_id,
            "mode": mode,
            "auto_kinds": None if auto_kinds is None else list(auto_kinds),
            "paused_until": paused_until,
        },
    )


@dataclass(frozen=True, slots=True)
class DueMount:
    """A mount in which a dream may begin."""

    scope_id: int
    tenant_id: int
    kind: str
    key: str
    rev: int
    mode: str
    auto_kinds: list[str]
    seen_rev: int


@dataclass(frozen=True, slots=True)
class DreamTimes:
    """Times of the job: when a dream may begin in a mount, and how long one holds its lease."""

    least_changes: int = 20
    quiet: timedelta = timedelta(minutes=30)
    between: timedelta = timedelta(hours=20)
    lease: timedelta = timedelta(minutes=5)


async def due(connection: Connection, times: DreamTimes, now: datetime, *, limit: int) -> list[DueMount]:
    """Return the mounts in which a dream may begin, those first that were dreamt over longest ago."""
    found = await rows(
        connection,
        "dreams/mount_due",
        least=times.least_changes,
        now=now,
        quiet_since=now - times.quiet,
        dreamt_before=now - times.between,
        limit=limit,
    )
    return [DueMount(**record) for record in found]


async def take(connection: Connection, mount: DueMount, lease: str, times: DreamTimes, now: datetime) -> bool:
    """Take the lease of a mount; return False if another one has it, or dreamt there lately."""
    found = await row(
        connection,
        "dreams/mount_lease",
        scope_id=mount.scope_id,
        lease=lease,
        now=now,
        until=now + times.lease,
        dreamt_before=now - times.between,
    )
    return found is not None


async def beat(connection: Connection, mount: DueMount, lease: str, times: DreamTimes, now: datetime) -> bool:
    """Keep the lease of a mount; return False if it is another's by now."""
    found = await row(
        connection, "dreams/mount_beat", scope_id=mount.scope_id, lease=lease, until=now + times.lease
    )
    return found is not None


async def done(connection: Connection, mount: DueMount, lease: str, seen_rev: int) -> None:
    """Give back the lease of a mount, and note which changes the dream has seen."""
    given = {"scope_id": mount.scope_id, "lease": lease, "seen_rev": seen_rev}
    await connection.execute(sql("dreams/mount_done"), given)
