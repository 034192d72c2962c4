"""Quotas: how much a tenant, a user or a project may store, and the check that a commit makes under its locks.

Four things are counted of each scope: the files that stand and their bytes, and all stored revisions and their
bytes, history included. Bytes are those of the texts in UTF-8; what is derived of texts, and the log, do not count.
Entries of the journal count in the history alone: the bytes of those that stand have a limit of their own, which is
the same for each user.
The counters stand in `scope`, and `counted_rev` says for which change they are right. If another version of Memex
has written since, or nobody has counted yet, `writes/file_load` counts anew, and the next commit stores that.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import reduce
from typing import Any, Literal

import psycopg

from memex.errors import QuotaExceeded
from memex.store.database import Connection
from memex.store.sql import sql
from memex.store.writes.edits import PlannedRevision

Kind = Literal["tenant", "user", "project"]

EXCEEDED = "MX003"  # the SQLSTATE of the function `check_tenant_quota`
NAMES = {
    "files": "files",
    "bytes": "bytes of text",
    "revisions": "stored versions",
    "stored_bytes": "bytes of text in all stored versions",
}
HINT = "Delete what is no longer needed, or ask an administrator for more (`memex service quota set`)."
JOURNAL_HINT = (
    "Nothing of the text was stored. Delete old entries, or raise MEMEX_JOURNAL_BYTES; MEMEX_JOURNAL_DAYS removes "
    "entries by their age."
)
HISTORY_HINT = (
    "Ask an administrator for more (`memex service quota set`): versions stay. Deletions go through."
)


@dataclass(frozen=True, slots=True)
class StoredAmounts:
    """The amounts that a scope, or a tenant, stores; or how a commit changes them."""

    files: int = 0
    bytes: int = 0
    revisions: int = 0
    stored_bytes: int = 0
    journal_bytes: int = 0

    def plus(self, other: "StoredAmounts") -> "StoredAmounts":
        """Return the sum."""
        names = [field.name for field in fields(self)]
        return StoredAmounts(**{name: getattr(self, name) + getattr(other, name) for name in names})


MEASURES = ("files", "bytes", "revisions", "stored_bytes")  # that a quota may limit


@dataclass(frozen=True, slots=True)
class Quota:
    """The limits of one kind, by what they limit; those of all users or projects of a tenant have no `key`."""

    kind: Kind
    key: str
    limits: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ScopeUsage:
    """The amounts that a scope's lock says are stored, without its files, and the quotas that hold for it."""

    used: StoredAmounts
    quotas: Sequence[Quota]

    @property
    def limits(self) -> dict[str, int]:
        """The limits of the scope: its own ones before those of all of its kind."""
        own = (quota for quota in self.quotas if quota.kind != "tenant")
        found: dict[str, int] = {}
        for quota in sorted(own, key=lambda quota: quota.key):
            found |= quota.limits
        return found

    @property
    def tenant_limits(self) -> Mapping[str, int]:
        """The limits of its tenant."""
        return next((quota.limits for quota in self.quotas if quota.kind == "tenant"), {})


def usage_of(used: Sequence[int], quotas: Sequence[Mapping[str, Any]] | None) -> ScopeUsage:
    """Return the usage of a scope from a row of `writes/file_load`."""
    return ScopeUsage(StoredAmounts(0, *used), [quota_of(quota) for quota in quotas or ()])


def quota_of(record: Mapping[str, Any]) -> Quota:
    """Return a quota from a row of the table."""
    limits = {name: record[name] for name in MEASURES if record[name] is not None}
    return Quota(record["kind"], record["key"], limits)


def growth_by_scope(written: Iterable[PlannedRevision]) -> dict[int, StoredAmounts]:
    """Return how the revisions of a commit change what their scopes store."""
    grown: dict[int, StoredAmounts] = {}
    for planned in written:
        stored = size_bytes(planned.change.new_content)
        more = stored - size_bytes(planned.change.old_content)
        standing = (
            {"journal_bytes": more} if planned.is_entry else {"files": planned.file.adds, "bytes": more}
        )
        added = StoredAmounts(**standing, revisions=1, stored_bytes=stored)
        scope_id = planned.file.scope.scope_id
        grown[scope_id] = grown.get(scope_id, StoredAmounts()).plus(added)
    return grown


def size_bytes(text: str) -> int:
    """Return the length of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def check(mount: str, used: StoredAmounts, grown: StoredAmounts, limits: Mapping[str, int]) -> None:
    """Raise QuotaExceeded if a commit lets a scope grow over one of its limits."""
    for measure, limit in limits.items():
        added, before = getattr(grown, measure), getattr(used, measure)
        if added > 0 and before + added > limit:
            raise _exceeded(f"{mount}/", mount.partition("/")[0], measure, before, limit, added)


def check_journal(used: StoredAmounts, grown: StoredAmounts, limit: int) -> None:
    """Raise QuotaExceeded if a commit lets a journal grow over its limit in bytes; 0 stands for none."""
    if limit and grown.journal_bytes > 0 and used.journal_bytes + grown.journal_bytes > limit:
        raise QuotaExceeded(
            f"The journal may hold {limit:,} bytes of text; it holds {used.journal_bytes:,}, and this would add "
            f"{grown.journal_bytes:,}.",
            hint=JOURNAL_HINT,
            quota="user.journal_bytes",
            used=used.journal_bytes,
            limit=limit,
        )


def total(grown: Iterable[StoredAmounts]) -> StoredAmounts:
    """Return the sum over some scopes."""
    return reduce(StoredAmounts.plus, grown, StoredAmounts())


async def check_tenant(connection: Connection, tenant_id: int, added: StoredAmounts) -> None:
    """Send the statement that fails if a tenant exceeds a limit by what its transaction has added."""
    growing = {measure: getattr(added, measure) for measure in MEASURES if getattr(added, measure) > 0}
    await connection.execute(
        sql("writes/quota_check"), {"tenant_id": tenant_id, "added": json.dumps(growing)}
    )


def refusal(error: psycopg.Error) -> QuotaExceeded | None:
    """Return the error for what `check_tenant_quota` raised; None if another function raised it."""
    if error.sqlstate != EXCEEDED:
        return None
    said: dict[str, Any] = json.loads(error.diag.message_detail or "{}")
    return _exceeded("The tenant", "tenant", said["measure"], said["used"], said["limit"], said["added"])


def _exceeded(what: str, kind: str, measure: str, used: int, limit: int, added: int) -> QuotaExceeded:
    is_history = measure in ("revisions", "stored_bytes")
    return QuotaExceeded(
        f"{what} may hold {limit:,} {NAMES[measure]}; it holds {used:,}, and this would add {added:,}.",
        hint=HISTORY_HINT if is_history else HINT,
        quota=f"{kind}.{measure}",
        used=used,
        limit=limit,
    )
