"""The results of a draft: what its commit did, or would do, and the entry of a told text."""

from dataclasses import dataclass
from typing import Any

from memex.store.records import FileChange


@dataclass(frozen=True, slots=True)
class Commit:
    """The result of a commit, its changes, and whether an earlier call with the same id had already made them."""

    result: dict[str, Any]
    changes: tuple[FileChange, ...] = ()
    is_repeat: bool = False


@dataclass(frozen=True, slots=True)
class ToldEntry:
    """The journal entry of a told text.

    Attributes:
        reference: `path@version`.
        text: what the entry holds.
        is_repeat: the same text was told before.
    """

    reference: str
    text: str
    is_repeat: bool


@dataclass(frozen=True, slots=True)
class Preview:
    """The changes that a commit would make, and the current state of the mounts that the commit would change."""

    changes: tuple[FileChange, ...]
    state: dict[str, int]
