"""The reads that can be made ahead of their turn, and the statements that make them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memex.store.access import Access, Scope
from memex.store.database import Rows, Statement
from memex.store.entry_path import is_in_journal
from memex.store.paths import parse
from memex.store.records import Tombstone
from memex.store.search.bm25 import Query

MAX_TOMBSTONES = 1_000  # that are read of one caller's memory, the newest ones


@dataclass(frozen=True, slots=True)
class Reads:
    """Reads of memory that are known before their turn; see the methods of `Memory` of these names.

    Attributes:
        state: whether the state of all scopes is wanted.
        pinned: the limit of the pinned files, 0 for none.
        series: names of series, each list with its limit.
        lists: prefixes that name a mount, each with the limit of the files that are listed.
        passages: paths whose passages a query scores.
        near: virtual paths with the parts of their texts, for their links.
        back: virtual paths, for the links that lead to them.
        files: virtual paths of files that are read whole.
        tombstones: whether what was forgotten and replaced is wanted.
        bounded: whether the days of what holds on some days alone are wanted.
        beside: entries beside which others are looked for.
        reach: how many on either side of each.
        statements: entries of which the statements are wanted.
        rivals: virtual paths of files of which the newer statements are wanted that contradict them.
    """

    state: bool = False
    pinned: int = 0
    series: Sequence[tuple[Sequence[str], int]] = ()
    lists: Sequence[tuple[str, int]] = ()
    passages: Sequence[tuple[Query, Sequence[str]]] = ()
    near: Mapping[str, str] = field(default_factory=dict)
    back: Sequence[str] = ()
    files: Sequence[str] = ()
    tombstones: bool = False
    bounded: bool = False
    beside: Sequence[str] = ()
    reach: int = 0
    statements: Sequence[str] = ()
    rivals: Sequence[str] = ()


NO_READS = Reads()


def state_statement(scopes: Iterable[Scope]) -> Statement:
    """Return the statement that reads how many changes scopes have seen."""
    return "memory/scope_state", {"scope_ids": [scope.scope_id for scope in scopes]}


def pinned_statement(scopes: Iterable[Scope], limit: int) -> Statement:
    """Return the statement that reads which files are pinned."""
    return "memory/file_pinned", {"scope_ids": [scope.scope_id for scope in scopes], "limit": limit}


def tombstones_statement(scope_ids: Sequence[int], revs: Sequence[int]) -> Statement:
    """Return the statement that reads what was forgotten and replaced in scopes, up to a change of each."""
    return "memory/tombstone_list", {"scope_ids": scope_ids, "revs": revs, "limit": MAX_TOMBSTONES}


def tombstones_in(access: Access, found: Rows) -> list[Tombstone]:
    """Return the tombstones that `tombstones_statement` found."""
    return [_tombstone(access, **row) for row in found]


def _tombstone(
    access: Access, *, scope_id: int, value_sizes: list[int], value_digests: list[bytes], **columns: Any
) -> Tombstone:
    columns |= {name: bytes(columns[name]) for name in ("line_key", "salt")}
    values = tuple(zip(value_sizes, map(bytes, value_digests), strict=True))
    words = frozenset(map(bytes, columns.pop("word_digests")))
    return Tombstone(access.by_id[scope_id].mount, values=values, words=words, **columns)


def bounded_statement(scope_ids: Sequence[int], revs: Sequence[int]) -> Statement:
    """Return the statement that reads which files hold on some days alone."""
    return "memory/file_bounded", {"scope_ids": scope_ids, "revs": revs}


def series_statement(scopes: Iterable[Scope], names: Sequence[str], limit: int) -> Statement:
    """Return the statement that lists the files of series, by mount."""
    scope_ids = [scope.scope_id for scope in sorted(scopes, key=lambda scope: scope.mount)]
    return "memory/series_list", {"scope_ids": scope_ids, "names": list(names), "limit": limit}


def without_scope(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a row but for that of its scope."""
    return {name: value for name, value in row.items() if name != "scope_id"}


def file_statements(access: Access, paths: Iterable[str]) -> list[Statement]:
    """Return the statements that read the files at virtual paths whole."""
    return [
        ("memory/file_read", {"scope_id": access.scope_of(path).scope_id, "path": path.relative})
        for path in map(parse, paths)
    ]


def list_statements(access: Access, lists: Iterable[tuple[str, int]]) -> list[Statement]:
    """Return the statements that list the files below prefixes, from the first one on."""
    parsed = ((parse(prefix), limit) for prefix, limit in lists)
    return [
        (
            "memory/file_list",
            {
                "scope_id": access.scope_of(prefix).scope_id,
                "prefix": prefix.relative,
                "after": "",
                "limit": limit,
                "entries": is_in_journal(str(prefix)),
                "about": None,
            },
        )
        for prefix, limit in parsed
    ]
