"""Quotas: how much a tenant, a user or a project may store, and the check that a commit makes under its locks.

Four things are counted of each scope: the files that stand and their bytes, and all stored revisions and their
bytes, history included. Bytes are those of the texts in UTF-8; what is derived of texts, and the log, do not count.
Both kinds of bytes include the texts of messages and of documents: a trigger checks what adds those.
Entries of the journal count in the history alone: the bytes of those that stand have a limit of their own, which is
the same for each user.
The counters stand in `scope`, and `counted_rev` says for which change they are right. If another version of Memex
has written since, or nobody has counted yet, `writes/file_load` counts anew, and the next commit stores that.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import reduce
from typing import Any, Literal

from memex.errors import QuotaExceeded
from memex.store.database import Connection
from memex.store.sql import sql
from memex.store.writes.edits import PlannedRevision

Kind = Literal["tenant", "user", "project"]

JOURNAL_HINT = (
    "Nothing of the text was stored. Delete old entries, or raise MEMEX_JOURNAL_BYTES; MEMEX_JOURNAL_DAYS removes "
    "entries by their age."
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
class ScopeUsage:
    """The amounts that a scope's lock says are stored, without its files, and the limited measures by kind."""

    used: StoredAmounts
    limited: Mapping[Kind, set[str]]

    def is_limited(self, added: StoredAmounts, *, in_tenant: bool) -> bool:
        """Return whether what is added could exceed a limit of the tenant, or of the scope."""
        measures = [names for kind, names in self.limited.items() if (kind == "tenant") == in_tenant]
        return any(getattr(added, measure) > 0 for measure in set().union(*measures))


def usage_of(used: Sequence[int], quotas: Sequence[Mapping[str, Any]] | None) -> ScopeUsage:
    """Return the usage of a scope from a row of `writes/file_load`."""
    limited: defaultdict[Kind, set[str]] = defaultdict(set)
    for quota in quotas or ():
        limited[quota["kind"]].update(measure for measure in MEASURES if quota[measure] is not None)
    return ScopeUsage(StoredAmounts(0, *used), limited)


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


async def check(connection: Connection, tenant_id: int, grown: Mapping[int | None, StoredAmounts]) -> None:
    """Send the statements that fail if scopes, or the tenant (None), exceed a limit by what was added."""
    for scope_id, added in grown.items():
        growing = {measure: getattr(added, measure) for measure in MEASURES if getattr(added, measure) > 0}
        await connection.execute(
            sql("writes/quota_check"),
            {"tenant_id": tenant_id, "scope_id": scope_id, "added": json.dumps(growing)},
        )
