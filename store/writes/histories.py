"""The histories of the paths at which texts are about to replace files."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memex.store.access import Access
from memex.store.database import Connection, rows_as
from memex.store.paths import parse


@dataclass(frozen=True, slots=True)
class IncomingText:
    """A text on its way to a path, by its SHA-256, and the version that it was made from, if that is known."""

    path: str
    sha256: str
    base_version: int = 0
    base_sha256: str = ""


@dataclass(frozen=True, slots=True)
class PathHistory:
    """The last revision at a path, and what the path held before.

    Attributes:
        path: virtual.
        version: of the last revision; the file may have been deleted by it, or moved away after it.
        sha256: of the text of that revision.
        channel: how that revision came.
        created_at: when it came.
        deleted: whether it deleted the file.
        stands: whether a file stands there now.
        held_text: whether the incoming text was ever the text of the file.
        held_base: whether the base version of the incoming text was a version of the file.
    """

    path: str
    version: int
    sha256: str
    channel: str
    created_at: datetime
    deleted: bool
    stands: bool
    held_text: bool
    held_base: bool


async def read_histories(
    connection: Connection, access: Access, texts: Sequence[IncomingText]
) -> dict[str, PathHistory]:
    """Return what is known of the paths of some texts, by path; a path that never had a file is left out."""
    places = [(access.scope_of(parsed), parsed.relative) for parsed in (parse(text.path) for text in texts)]

    def history(*, scope_id: int, path: str, sha256: bytes, **columns: Any) -> PathHistory:
        return PathHistory(access.by_id[scope_id].virtual(path), sha256=bytes(sha256).hex(), **columns)

    found = await rows_as(
        history,
        connection,
        "writes/path_history",
        scope_ids=[scope.scope_id for scope, _ in places],
        paths=[relative for _, relative in places],
        sha256s=_digests(text.sha256 for text in texts),
        base_versions=[text.base_version for text in texts],
        base_sha256s=_digests(text.base_sha256 for text in texts),
    )
    return {history.path: history for history in found}


def _digests(digests: Iterable[str]) -> list[bytes]:
    return [bytes.fromhex(digest) for digest in digests]
