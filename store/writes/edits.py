"""The edits of a draft, and how they are applied to the stored files. Pure.

A `WorkingTree` begins with the open revisions of the paths that the edits name. Each edit is checked against the
tree, `base_version` included, and then changes the tree. At the end each changed file becomes one new revision.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from memex.errors import (
    EntryImmutable,
    FileExists,
    FileNotFound,
    FileTooLarge,
    Refused,
    ValidationFailed,
    VersionConflict,
)
from memex.store.access import Scope
from memex.store.entry_path import is_entry_at
from memex.store.records import FileChange, Span
from memex.store.writes import patch
from memex.store.writes.revisions import (
    Head,
    ScopedPath,
    UndoneRevision,
    inverse,
    undo_conflict,
    written_again,
)

MAX_FILE_BYTES = 1 << 20
MAX_REASON_CHARS = 500

Origin = Literal["user", "assistant", "tool", "web", "document", "import", "operator", "model"]
_NOT_BLANK = re.compile(r"[^\s]")


@dataclass(frozen=True, slots=True)
class Told:
    """The facts about a journal entry beside its text.

    Attributes:
        origin: whose words the text has.
        said_at: when it was said.
        about: the slug of the project that it was told about, if any.
        actor: who told it, if not the caller who writes the entry.
        tool_call_id: of the call that told it, if not that which writes the entry.
        valid: the days on which it holds, as a `daterange`, if the caller says so.
    """

    origin: Origin
    said_at: datetime
    about: str | None = None
    actor: str | None = None
    tool_call_id: str | None = None
    valid: str | None = None

    def columns(self) -> dict[str, str | None]:
        """Return the columns of the revision that say it."""
        own = {"told_by": self.actor, "told_in": self.tool_call_id, "valid": self.valid}
        return {"origin": self.origin, "said_at": self.said_at.isoformat(), "about": self.about} | own


@dataclass(frozen=True, slots=True)
class Write:
    """Put the whole text of a file; with `told`, the text of a new journal entry."""

    place: ScopedPath
    content: str
    base_version: int | None = None
    overwrite: bool = False
    operation: Literal["write", "restore"] = "write"
    reason: str | None = None
    told: Told | None = None


@dataclass(frozen=True, slots=True)
class Hide:
    """Blank spans of a journal entry, so that the rest of it stays where it is."""

    place: ScopedPath
    spans: tuple[Span, ...]
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Show:
    """Put words of a journal entry back where they are blanked; `words` are texts with where they begin."""

    place: ScopedPath
    words: tuple[tuple[int, str], ...]
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Patch:
    """Change a part of a file; without `base_version`, of the text that is stored when the lock is held."""

    place: ScopedPath
    operation: Literal["append", "insert", "replace"]
    text: str
    heading: str | None = None
    match: str | None = None
    base_version: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Revised:
    """A text that a function of `Revise` made, and what it says about the change; see `FileChange.outcomes`."""

    content: str | None
    outcome: Any


@dataclass(frozen=True, slots=True)
class Revise:
    """Write what a pure function makes of the text that is stored when the lock is held; None if there is no file.

    So of two concurrent calls that revise one file, the second one works on what the first one wrote. If the
    function returns the text unchanged, or None, the file stays as it is. If texts are long, a process calls the
    function, so that it has to be one of a module, or an object that can be pickled and called.

    Where there are lines in `later`, which were said later than the text of the call, the function gets their keys
    too.
    """

    place: ScopedPath
    revise: Callable[..., str | Revised | None]
    chars: int = 0  # that the function adds at most; decides with SHORT_CHARS when the edit is applied
    reason: str | None = None
    later: frozenset[bytes] = frozenset()


@dataclass(frozen=True, slots=True)
class Move:
    """Put a file at another path, in the same scope with its history."""

    place: ScopedPath
    to: ScopedPath
    base_version: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete a file; its revisions stay."""

    place: ScopedPath
    base_version: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Undo:
    """Take back revisions of calls, all at once: files that changed places find their way home.

    With `keeps_later`, a file stays as it is if what was written later does not fit; else nothing is taken back.
    """

    revisions: tuple[UndoneRevision, ...]
    reason: str | None = None
    calls: tuple[str, ...] = ()
    keeps_later: bool = False


Edit = Write | Hide | Show | Patch | Revise | Move | Delete | Undo


@dataclass(slots=True, eq=False)
class EditedFile:
    """A file while edits are applied: `head` is its stored revision, `content` is None once it is deleted."""

    scope: Scope
    path: str
    content: str | None
    head: Head | None
    operation: str = ""
    reason: str | None = None
    counterpart: "EditedFile | None" = None
    span: Span | None = None
    told: Told | None = None
    edits: list[int] = field(default_factory=list)
    outcomes: list[Any] = field(default_factory=list)

    @property
    def is_changed(self) -> bool:
        """Return whether the store would see a difference."""
        if self.head is None:
            return self.content is not None
        stored = None if self.head.deleted else self.head.content
        return self.content != stored or self.path != self.head.path

    @property
    def adds(self) -> int:
        """The change of the number of files in the scope: 1, 0 or -1; journal entries are not counted."""
        if is_entry_at(self.scope.virtual(self.path)):
            return 0
        return (self.content is not None) - (self.head is not None and not self.head.deleted)


@dataclass(frozen=True, slots=True)
class PlannedRevision:
    """A file that a draft touched, with the version that its revision gets, or keeps when nothing changed."""

    file: EditedFile
    change: FileChange

    @property
    def is_entry(self) -> bool:
        """Return whether the file is an entry of a journal."""
        return is_entry_at(self.file.scope.virtual(self.file.path))


@dataclass(slots=True)
class WorkingTree:
    """The files that edits touch, by their present paths, and the highest version ever stored at each path."""

    heads: Mapping[tuple[int, str], Head | None]
    highest: Mapping[tuple[int, str], int]
    standing: dict[tuple[int, str], EditedFile | None] = field(default_factory=dict)
    touched: list[EditedFile] = field(default_factory=list)
    applied: int = 0

    def apply(self, edits: Iterable[Edit], *, are_members: bool = False) -> "WorkingTree":
        """Apply the edits in their order, and return the tree.

        Args:
            edits: each is applied to what the edits before it left.
            are_members: the edits are members of a batch, which an error names by their index.

        Raises:
            FileNotFound, FileExists, VersionConflict, FileTooLarge, ValidationFailed, PatchNotFound,
            PatchAmbiguous: the first edit that does not fit; nothing was written.
        """
        for edit in edits:
            with naming_member(self.applied if are_members else None):
                self._apply(edit)
            self.applied += 1
        return self

    def _apply(self, edit: Edit) -> None:
        match edit:
            case Write():
                self._write(edit)
            case Hide():
                self._hide(edit)
            case Show():
                self._show(edit)
            case Patch():
                self._patch(edit)
            case Revise():
                self._revise(edit)
            case Move():
                self._move(edit)
            case Delete():
                self._delete(edit)
            case Undo():
                self._undo(edit)

    def read(self, place: ScopedPath) -> str | None:
        """Return the current text of a path, None if there is no file."""
        file = self._find(place)
        return file.content if file else None

    def _find(self, place: ScopedPath) -> EditedFile | None:
        if place.key in self.standing:
            return self.standing[place.key]
        head = self.heads.get(place.key)
        if head is None:
            return None
        file = EditedFile(place.scope, place.path, head.content, head)
        self.standing[place.key] = file
        return file

    def _existing(self, place: ScopedPath, base_version: int | None) -> EditedFile:
        file = self._find(place)
        if file is None:
            if base_version and self.highest.get(place.key, 0):
                raise _version_conflict(place, base_version, self.highest[place.key], deleted=True)
            raise FileNotFound(f"{place}: there is no such file.", path=str(place))
        current = file.head.version if file.head else 0
        if base_version is not None and base_version != current:
            raise _version_conflict(place, base_version, current)
        return file

    def _write(self, edit: Write) -> None:
        check_content(edit.content, edit.place)
        self._refuse_rewriting(edit)
        if edit.base_version:
            file = self._existing(edit.place, edit.base_version)
        elif (standing := self._find(edit.place)) is not None:
            file = standing
            if not edit.overwrite:
                current = file.head.version if file.head else 0
                raise FileExists(
                    f"{edit.place}: a file stands there.", path=str(edit.place), current_version=current
                )
        else:
            file = self._create(edit.place)
        file.content, file.told = edit.content, edit.told
        self._touch(file, edit.operation, edit.reason, span=(0, len(edit.content)))

    def _refuse_rewriting(self, edit: Write) -> None:
        """Refuse a text for a journal entry, unless it makes the entry, or is one that the entry had or has."""
        if edit.operation == "restore" or not is_entry_at(str(edit.place)):
            return
        standing = self._find(edit.place)
        if edit.content != standing.content if standing else edit.told is None:
            raise entry_immutable(str(edit.place))

    def _hide(self, edit: Hide) -> None:
        """Blank words of an entry; one that is deleted has none to hide."""
        file = self._find(edit.place)
        if file is None or file.content is None:
            return
        content = file.content
        for start, end in edit.spans:
            content = content[:start] + _NOT_BLANK.sub(" ", content[start:end]) + content[end:]
        file.content = content
        self._touch(file, "patch", edit.reason)

    def _show(self, edit: Show) -> None:
        """Put words back that are blanked still; an entry that is deleted, or shows them already, stays so."""
        file = self._find(edit.place)
        if file is None or file.content is None:
            return
        content = file.content
        for start, words in edit.words:
            shown = content[start : start + len(words)]
            put = "".join(word if there == " " else there for there, word in zip(shown, words, strict=False))
            content = content[:start] + put + content[start + len(put) :]
        if content != file.content:
            file.content = content
            self._touch(file, "patch", edit.reason)

    def _patch(self, edit: Patch) -> None:
        if is_entry_at(str(edit.place)):
            raise entry_immutable(str(edit.place))
        file = self._existing(edit.place, edit.base_version)
        patched = patch.apply(
            file.content or "", edit.operation, edit.text, heading=edit.heading, match=edit.match
        )
        check_content(patched.content, edit.place)
        file.content = patched.content
        self._touch(file, "patch", edit.reason, span=(patched.start, patched.end))

    def _revise(self, edit: Revise) -> None:
        if is_entry_at(str(edit.place)):
            raise entry_immutable(str(edit.place))
        file = self._find(edit.place)
        made = edit.revise(file.content if file else None, *([edit.later] if edit.later else []))
        content, outcome = (made.content, made.outcome) if isinstance(made, Revised) else (made, None)
        if content is None:
            return
        check_content(content, edit.place)
        file = file or self._create(edit.place)
        file.content = content
        file.outcomes.append(outcome)
        self._touch(file, "patch", edit.reason)

    def _move(self, edit: Move) -> None:
        for place in (edit.place, edit.to):
            if is_entry_at(str(place)):
                raise entry_immutable(str(place))
        file = self._existing(edit.place, edit.base_version)
        if edit.to.key == edit.place.key:
            raise ValidationFailed(f"{edit.place}: the file already stands there.")
        if (there := self._find(edit.to)) is not None:
            current = there.head.version if there.head else 0
            raise FileExists(f"{edit.to}: a file stands there.", path=str(edit.to), current_version=current)
        if edit.to.scope.scope_id == edit.place.scope.scope_id:
            self._rename(file, edit.to)
            self._touch(file, "move", edit.reason)
            return
        copy = self._create(edit.to)
        copy.content = file.content
        # Of a file that this draft made, or brought from elsewhere, nothing is stored at the place that it leaves.
        origin = file if file.head is not None else file.counterpart
        if origin is not None:
            copy.counterpart, origin.counterpart = origin, copy
        self._remove(file)
        self._touch(file, "move", edit.reason)
        self._touch(copy, "move", edit.reason)

    def _delete(self, edit: Delete) -> None:
        file = self._existing(edit.place, edit.base_version)
        self._remove(file)
        self._touch(file, "delete", edit.reason)

    def _undo(self, edit: Undo) -> None:
        lifted = {self._lift(revision): revision for revision in edit.revisions}
        made: dict[EditedFile, tuple[ScopedPath, str | None]] = {}
        for file, revision in lifted.items():
            with self._keeping(file, revision, edit):
                place, content = inverse(revision)
                check_content(content or "", place)
                made[file] = place, content
        is_settled = False
        while not is_settled:  # a file that stays may stand where another one would go
            is_settled, taken = True, set[tuple[int, str]]()
            for file, (place, content) in list(made.items()):
                if content is None:
                    continue
                if place.key in taken or self._find(place) is not None:
                    is_settled = False
                    del made[file]
                    with self._keeping(file, lifted[file], edit):
                        raise written_again(lifted[file])
                taken.add(place.key)
        for file, (place, content) in made.items():
            file.content = content
            if content is not None:
                file.path, self.standing[place.key] = place.path, file
            self._touch(file, "revert", edit.reason)

    @contextmanager
    def _keeping(self, file: EditedFile, one: UndoneRevision, edit: Undo) -> Iterator[None]:
        """Leave a lifted file as it is if something in the block does not fit, or say what does not."""
        try:
            yield
        except Refused as refusal:
            if not edit.keeps_later:
                raise (
                    undo_conflict(one, refusal) if isinstance(refusal, VersionConflict) else refusal
                ) from None
            if file.content is not None:
                self.standing[file.scope.scope_id, file.path] = file

    def _lift(self, one: UndoneRevision) -> EditedFile:
        """Take a file away from where it stands, so that its place is free for another."""
        scope, head = one.place.scope, one.head
        if head.deleted:
            return EditedFile(scope, head.path, None, head)
        file = self._find(ScopedPath(scope, head.path))
        if file is None or file.head != head:
            raise _version_conflict(one.place, head.version, file.head.version if file and file.head else 0)
        self.standing[scope.scope_id, file.path] = None
        return file

    def _create(self, place: ScopedPath) -> EditedFile:
        file = EditedFile(place.scope, place.path, "", None)
        self.standing[place.key] = file
        return file

    def _rename(self, file: EditedFile, to: ScopedPath) -> None:
        self.standing[file.scope.scope_id, file.path] = None
        file.path = to.path
        self.standing[to.key] = file

    def _remove(self, file: EditedFile) -> None:
        self.standing[file.scope.scope_id, file.path] = None
        file.content = None

    def _touch(self, file: EditedFile, operation: str, reason: str | None, span: Span | None = None) -> None:
        file.operation = _operation(file, operation)
        file.reason = reason if reason is not None else file.reason
        file.span = span
        file.edits.append(self.applied)
        if len(file.edits) == 1:
            self.touched.append(file)

    def planned(self) -> list[PlannedRevision]:
        """Return what became of each file that an edit touched, in the order of their first edits."""
        highest = dict(self.highest)
        versions: dict[EditedFile, int] = {}
        # Of two files at one path, one is deleted: the one that stands there has the higher version.
        for file in sorted(self.touched, key=lambda file: file.content is not None):
            stored = file.head.version if file.head else 0
            if file.is_changed:
                key = file.scope.scope_id, file.path
                highest[key] = versions[file] = 1 + max(stored, highest.get(key, 0))
            else:
                versions[file] = stored
        return [PlannedRevision(file, _change(file, versions)) for file in self.touched]


@contextmanager
def naming_member(index: int | None) -> Iterator[None]:
    """Let an error that is raised in the block name the member of a batch; None for an edit that is none.

    Args:
        index: of the member, from 0; `details` of the error get it as `member`.
    """
    try:
        yield
    except Refused as error:
        if index is not None:
            error.message = f"Member {index}: {error.message}"
            error.args = (error.message,)
            error.details["member"] = index
        raise


def entry_immutable(path: str) -> EntryImmutable:
    """Return the error for a change to a journal entry, at its virtual path."""
    return EntryImmutable(f"{path} is an entry of the journal, which keeps what was told.", path=path)


def check_content(content: str, place: ScopedPath) -> None:
    """Refuse text that cannot be stored.

    Raises:
        ValidationFailed: a NUL character or a lone surrogate.
        FileTooLarge: over 1 MiB in UTF-8.
    """
    if (at := content.find("\0")) >= 0:
        raise ValidationFailed(
            f"{place}: the text has a NUL character at {at}.", hint="Remove it; memory is text."
        )
    try:
        size = len(content.encode())
    except UnicodeEncodeError as error:
        raise ValidationFailed(
            f"{place}: the text has a lone surrogate at {error.start}.", hint="Send well-formed Unicode."
        ) from None
    if size > MAX_FILE_BYTES:
        raise FileTooLarge(
            f"{place}: {size:,} bytes are over the limit of {MAX_FILE_BYTES:,}.", limit_bytes=MAX_FILE_BYTES
        )


def _operation(file: EditedFile, last: str) -> str:
    """Return what the revision of a file says was done: that it came to be, that it was moved, or the last edit."""
    if last not in ("write", "patch", "move"):
        return last
    if file.head is None:
        return "create" if file.counterpart is None else "move"
    return last if file.path == file.head.path else "move"


def _change(file: EditedFile, versions: Mapping[EditedFile, int]) -> FileChange:
    head, other = file.head, file.counterpart
    content = file.content or ""
    counterpart = None
    if other is not None and versions[other]:
        # A user's path is told to nobody else: what came to a project from user/ does not say whence.
        if other.scope.mount != "user" or file.scope.mount == "user":
            counterpart = f"{other.scope.virtual(other.path)}@{versions[other]}"
    elif head is not None and head.path != file.path:
        counterpart = f"{file.scope.virtual(head.path)}@{head.version}"
    return FileChange(
        path=file.scope.virtual(file.path),
        operation=file.operation,
        version=versions[file],
        old_path=file.scope.virtual(head.path) if head else None,
        old_version=head.version if head else None,
        old_content=head.content if head else "",
        new_content=content,
        deleted=file.content is None,
        changed=file.is_changed,
        sha256=hashlib.sha256(content.encode()).hexdigest(),
        counterpart=counterpart,
        span=file.span,
        edits=tuple(file.edits),
        outcomes=tuple(file.outcomes),
    )


def _version_conflict(
    place: ScopedPath, base_version: int, current: int, *, deleted: bool = False
) -> VersionConflict:
    state = "was deleted in" if deleted else "is at"
    return VersionConflict(
        f"{place} {state} version {current}, not at {base_version}.",
        path=str(place),
        base_version=base_version,
        current_version=current,
        deleted=deleted or None,
    )


def places_of(edit: Edit) -> list[ScopedPath]:
    """Return the places of the files that an edit reads or writes."""
    match edit:
        case Move():
            return [edit.place, edit.to]
        case Undo():
            return [
                ScopedPath(undo.place.scope, path)
                for undo in edit.revisions
                for path in {undo.place.path, undo.head.path}
                | {before.path for _, before in ((undo.after, undo.before), *undo.earlier) if before}
            ]
        case _:
            return [edit.place]
