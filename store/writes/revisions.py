"""The revisions that edits begin with: the open one of a file, and those that are taken back. Pure."""

from dataclasses import dataclass, replace

from memex.errors import VersionConflict
from memex.store import diff
from memex.store.access import Scope


@dataclass(frozen=True, slots=True)
class ScopedPath:
    """A path within a scope."""

    scope: Scope
    path: str

    @property
    def key(self) -> tuple[int, str]:
        """The key of this path in `WorkingTree.heads`."""
        return self.scope.scope_id, self.path

    def __str__(self) -> str:
        return self.scope.virtual(self.path)


@dataclass(frozen=True, slots=True)
class Head:
    """The open revision of a file, as the store holds it."""

    file_id: int
    path: str
    version: int
    content: str
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class UndoneRevision:
    """Revisions of one file to take back: the text, the path and whether the file stood there at all.

    Attributes:
        place: the place where the newest of the revisions put the file.
        head: the file's open revision now, a tombstone when it was deleted.
        after: the newest revision that is taken back.
        before: the one before it, or before all that follow each other; None when they made the file.
        later_calls: the other tool calls that wrote the file since.
        is_undone: they left it as it was before the revisions.
        earlier: more revisions that are taken back, each as `after` with its `before`, the newest first.
        calls: the tool calls that wrote what is taken back.
        is_as_left: the last of the later calls took the others back, so that the file is as `after` left it.
    """

    place: ScopedPath
    head: Head
    after: Head
    before: Head | None
    later_calls: tuple[str, ...] = ()
    is_undone: bool = False
    earlier: tuple[tuple[Head, Head | None], ...] = ()
    calls: tuple[str, ...] = ()
    is_as_left: bool = False


def inverse(one: UndoneRevision) -> tuple[ScopedPath, str | None]:
    """Return where the file stood before the revisions and with what text; None when it did not stand."""
    head, newest = one.head, one.after
    is_newest = one.is_as_left or (head.version == newest.version and head.path == newest.path)
    for after, before in ((one.after, one.before), *one.earlier):
        path, content = _inverse_of(one, head, after, before, is_newest=is_newest)
        head = replace(head, path=path, content=content or "", deleted=content is None)
        is_newest = False  # between two runs of revisions somebody else wrote
    return replace(one.place, path=head.path), None if head.deleted else head.content


def _inverse_of(
    one: UndoneRevision, head: Head, after: Head, before: Head | None, *, is_newest: bool
) -> tuple[str, str | None]:
    if before is None or before.deleted:
        _require(is_newest, one)
        return head.path, None
    if after.deleted:
        _require(is_newest, one)
        return before.path, before.content
    _require(not head.deleted, one)
    content = diff.undo(before.content, after.content, head.content, str(one.place))
    if before.path == after.path:
        return head.path, content
    _require(head.path == after.path, one)
    return before.path, content


def _require(condition: bool, one: UndoneRevision) -> None:
    if not condition:
        raise written_again(one)


def written_again(one: UndoneRevision) -> VersionConflict:
    """Return the error for a file that somebody wrote since in a way that does not fit."""
    return VersionConflict(f"{one.place}: the file was changed again since.")


def undo_conflict(one: UndoneRevision, conflict: VersionConflict) -> VersionConflict:
    """Return the conflict with the calls that stand in the way, and what to do about them."""
    message, hint = conflict.message, "Revert the later calls first, or change the file by hand."
    if one.is_undone:
        stands = "gone" if one.head.deleted else f"at version {one.head.version}"
        message = f"{one.place} is {stands}, as it was before the call; nothing was changed."
        hint = f"To have back what the call wrote, revert {one.later_calls[-1]}."
    return VersionConflict(
        message,
        hint=hint,
        path=str(one.place),
        current_version=one.head.version,
        later_calls=list(one.later_calls),
    )
