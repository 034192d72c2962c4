"""The growth of memory by commits, and the check whether a commit may let it grow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memex.errors import LimitExceeded
from memex.store.embedded.space import Space
from memex.store.writes import quota
from memex.store.writes.edits import Delete, Edit, Hide, PlannedRevision, Revise, Undo
from memex.store.writes.quota import ScopeUsage, StoredAmounts

SHRINKING_EDITS = (
    Delete,
    Hide,
    Revise,
    Undo,
)  # those that can take text away and are bounded by what was stored before


@dataclass(frozen=True, slots=True)
class Growth:
    """The amounts that a commit changes.

    Attributes:
        used: what each scope stores after it.
        limited: what is added to each scope, and to the tenant (None), that could exceed a quota by that.
    """

    used: Mapping[int, StoredAmounts]
    limited: Mapping[int | None, StoredAmounts]


def check(
    space: Space,
    edits: Sequence[Edit],
    written: Sequence[PlannedRevision],
    files: Mapping[int, int],
    usage: Mapping[int, ScopeUsage],
    max_files: int,
    max_journal_bytes: int,
) -> Growth:
    """Return what a commit changes, if it may; the locks of its scopes are held.

    Args:
        space: the space that the database has left.
        edits: those of the commit.
        written: the revisions that they lead to.
        files: the number of files that each scope holds.
        usage: what else it holds, and what is limited.
        max_files: the highest number of files in a scope.
        max_journal_bytes: the highest number of bytes in a journal; 0 for any.

    Raises:
        DiskLow: memory would grow, and the database has no space for that.
        LimitExceeded: a scope would hold more files than `max_files`.
        QuotaExceeded: a journal would be full. Quotas are checked later, in the database.
    """
    shrinking = is_shrinking(edits, written)
    if written:
        (space.refuse_write if shrinking else space.refuse_growth)()
    grown = quota.growth_by_scope(written)
    mounts = {planned.file.scope.scope_id: planned.file.scope.mount for planned in written}
    used: dict[int, StoredAmounts] = {}
    limited: dict[int | None, StoredAmounts] = {}
    for scope_id, added in grown.items():
        before = usage[scope_id].used.plus(StoredAmounts(files=files[scope_id]))
        if added.files > 0 and before.files + added.files > max_files:
            raise LimitExceeded(
                f"{mounts[scope_id]}/ may hold {max_files:,} files.",
                hint="Delete or merge files that are no longer needed.",
                limit=max_files,
            )
        if not shrinking:
            quota.check_journal(before, added, max_journal_bytes)
            if usage[scope_id].is_limited(added, in_tenant=False):
                limited[scope_id] = added
        used[scope_id] = before.plus(added)
    total = quota.total(grown.values())
    if not shrinking and any(usage[scope_id].is_limited(total, in_tenant=True) for scope_id in grown):
        limited[None] = total
    return Growth(used, limited)


def can_shrink(edits: Sequence[Edit]) -> bool:
    """Return whether a commit of these edits may be one that `is_shrinking`."""
    return all(isinstance(edit, SHRINKING_EDITS) for edit in edits)


def is_shrinking(edits: Sequence[Edit], written: Sequence[PlannedRevision]) -> bool:
    """Return whether a commit leaves less text standing than before, and no more files.

    History grows by each commit. So only deletions, reverts, and what takes statements out of files count: each of
    them takes away something that an earlier commit has added, and so there is an end to them. A patch that removes
    one character does not count, because a caller could store a large file again and again with it.
    """
    if not can_shrink(edits):
        return False
    files = sum(planned.file.adds for planned in written)
    chars = sum(
        _count_chars(planned.change.new_content) - _count_chars(planned.change.old_content)
        for planned in written
    )
    return files <= 0 and (chars < 0 or all(planned.change.deleted for planned in written))


def _count_chars(text: str) -> int:
    """Return how many characters of a text are no spaces, which stand for words of the journal that are hidden."""
    return len(text) - text.count(" ")
