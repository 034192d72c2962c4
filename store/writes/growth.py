"""Which commits let memory grow, for what is refused when the disk is nearly full."""

from collections.abc import Sequence

from memex.store.embedded.space import Space
from memex.store.writes.edits import Delete, Edit, PlannedRevision, Revise, Undo

SHRINKING_EDITS = (
    Delete,
    Revise,
    Undo,
)  # those that can take text away and are bounded by what was stored before


def refuse_growth(space: Space, edits: Sequence[Edit], written: Sequence[PlannedRevision]) -> None:
    """Raise DiskLow if a commit lets memory grow, and the database has no space for that."""
    if not written:
        return
    if is_shrinking(edits, written):
        space.refuse_write()
    else:
        space.refuse_growth()


def can_shrink(edits: Sequence[Edit]) -> bool:
    """Whether a commit of these edits may be one that `is_shrinking`."""
    return all(isinstance(edit, SHRINKING_EDITS) for edit in edits)


def is_shrinking(edits: Sequence[Edit], written: Sequence[PlannedRevision]) -> bool:
    """Whether a commit leaves less text standing than before, and no more files.

    History grows by each commit. So only deletions, reverts, and what takes statements out of files count: each of
    them takes away something that an earlier commit has added, and so there is an end to them. A patch that removes
    one character does not count, because a caller could store a large file again and again with it.
    """
    if not can_shrink(edits):
        return False
    files = sum(planned.file.adds for planned in written)
    chars = sum(len(planned.change.new_content) - len(planned.change.old_content) for planned in written)
    return files <= 0 and (chars < 0 or all(planned.change.deleted for planned in written))
