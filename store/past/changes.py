"""The changes in a caller's scopes since a moment: the files that differ, and their texts as they stood."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property, partial
from typing import Any

from memex.errors import LimitExceeded
from memex.store.access import Scope
from memex.store.database import Connection, rows_as
from memex.store.records import check_text
from memex.store.text_pool.portions import portions

MAX_CHARS = 16 << 20  # of the changed files together: to read so much anew takes some ten seconds
PART_CHARS = 1 << 20  # read and worked through at a time


@dataclass(frozen=True, slots=True)
class PastFile:
    """A file as it stood at the moment, without its text."""

    scope: Scope
    file_id: int
    path: str  # relative to the scope
    version: int
    title: str
    tags: tuple[str, ...]
    tag_keys: tuple[str, ...]
    size_chars: int
    path_key: str
    name_key: str
    pinned: bool
    dated: date | None
    about: str | None
    created_at: datetime

    @property
    def virtual_path(self) -> str:
        """The path as a caller writes it."""
        return self.scope.virtual(self.path)


@dataclass(frozen=True, slots=True)
class _ChangedFile:
    """A file that was changed since the moment: the path where it stands now, and the file as it stood."""

    scope: Scope
    file_id: int
    path_now: str | None
    past_file: PastFile | None


@dataclass(frozen=True)
class ScopeChanges:
    """The changes in one scope since the moment.

    Attributes:
        file_ids: the ids of the files that were written, moved, deleted or made.
        paths_now: the present paths of those files that still exist.
        stood: those of them that stood at the moment.
    """

    file_ids: frozenset[int]
    paths_now: frozenset[str]
    past_files: tuple[PastFile, ...]

    @cached_property
    def by_path(self) -> Mapping[str, PastFile]:
        """Those that stood, by the paths of then."""
        return {file.path: file for file in self.past_files}

    @cached_property
    def by_id(self) -> Mapping[int, PastFile]:
        """Those that stood, by their ids."""
        return {file.file_id: file for file in self.past_files}


class ChangeReader:
    """The changes of several scopes since a moment, each read once, within one transaction.

    Args:
        connection: in a snapshot transaction.
        revs: the number of each scope's last change at the moment; where one is absent, nothing stood.
    """

    def __init__(self, connection: Connection, revs: Mapping[Scope, int]) -> None:
        self._connection = connection
        self._revs = revs
        self._known: dict[Scope, ScopeChanges] = {}

    async def since(self, scopes: Iterable[Scope]) -> Mapping[Scope, ScopeChanges]:
        """Return what was changed in some of the scopes, in their order."""
        scopes = list(scopes)
        unknown = {scope.scope_id: scope for scope in scopes if scope not in self._known}
        if unknown:
            found = await rows_as(
                partial(_changed_file, unknown),
                self._connection,
                "past/file_changed",
                scope_ids=list(unknown),
                revs=[self._revs.get(scope, 0) for scope in unknown.values()],
            )
            for scope in unknown.values():
                mine = [changed for changed in found if changed.scope is scope]
                self._known[scope] = ScopeChanges(
                    file_ids=frozenset(changed.file_id for changed in mine),
                    paths_now=frozenset(changed.path_now for changed in mine if changed.path_now),
                    past_files=tuple(changed.past_file for changed in mine if changed.past_file),
                )
        return {scope: self._known[scope] for scope in scopes}

    async def texts(self, files: Sequence[PastFile]) -> AsyncIterator[list[tuple[PastFile, str]]]:
        """Yield files of one scope with their texts, in their order, about a mebibyte at a time."""
        for part in portions(files, lambda file: file.size_chars, PART_CHARS):
            found = await rows_as(
                _content,
                self._connection,
                "past/revision_text",
                scope_id=part[0].scope.scope_id,
                paths=[file.path for file in part],
                versions=[file.version for file in part],
            )
            yield list(zip(part, found, strict=True))


def check_size(changes: Iterable[ScopeChanges]) -> None:
    """Refuse to read everything anew that was changed where it is too much; raises LimitExceeded."""
    chars = sum(file.size_chars for change in changes for file in change.past_files)
    if chars > MAX_CHARS:
        raise LimitExceeded(
            f"{chars:,} characters of files were changed since that moment, over {MAX_CHARS:,}.",
            hint="Ask about a later moment; to list and to read files works at any.",
            limit=MAX_CHARS,
        )


def _changed_file(
    scopes: Mapping[int, Scope],
    *,
    scope_id: int,
    file_id: int,
    path_now: str | None,
    path: str | None,
    tags: Sequence[str] | None,
    tag_keys: Sequence[str] | None,
    **columns: Any,
) -> _ChangedFile:
    """Return a changed file, from the columns of its row: without a path, no file stood at the moment."""
    past_file = None
    if path is not None:
        past_file = PastFile(
            scope=scopes[scope_id],
            file_id=file_id,
            path=path,
            tags=tuple(tags or ()),
            tag_keys=tuple(tag_keys or ()),
            **columns,
        )
    return _ChangedFile(scopes[scope_id], file_id, path_now, past_file)


def _content(*, path: str, version: int, content: str, thinned: Sequence[int] | None) -> str:
    check_text(f"{path}@{version}", thinned)
    return content
