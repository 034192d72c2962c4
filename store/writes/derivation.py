"""The rows that a commit derives from texts, and checks before. Pure: a process of the text pool may do it.

The marks of Markdown are counted before a text is parsed. To count them takes some milliseconds for the largest
file, and to parse a mebibyte of nothing but marks takes ten seconds.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from memex.errors import LimitExceeded
from memex.store.search.analyzer import analyzer_of
from memex.store.search.index import FileIndex, StoredChunk, deleted_file_index, index
from memex.store.writes.edits import Edit, PlannedRevision, WorkingTree, naming_member

MAX_CHUNKS_PER_FILE = 10_000
MAX_HEADINGS = MAX_CHUNKS_PER_FILE  # each begins a chunk
MAX_MARKED_LINES = 100_000
MAX_LINKS = 100_000

# Each begins at the start of a line, and looks at a line once: what repeats is possessive.
_HEADING = re.compile(r"^ {0,3}+#{1,6}+(?:[ \t\r\n]|\Z)", re.MULTILINE)
_UNDERLINED = re.compile(r"^ {0,3}+[^\s>|#][^\n]*+\n {0,3}+(?:=++|-++)[ \t\r]*+$", re.MULTILINE)
_MARKED_LINE = re.compile(
    r"^(?:[ \t>]*+(?:[-*+](?:[ \t\r\n]|\Z)|\d{1,9}+[.)]|```|~~~)|[^\n|]*+\|)", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class FileToIndex:
    """A file of a commit, and what its index is derived from.

    Attributes:
        name: the virtual path, for errors.
        path: within the scope.
        content: None for a file that is deleted.
        stored: the chunks that the store holds of it.
        language: of the scope.
        member: the index of the last edit of the file in a batch; None if there is no batch.
    """

    name: str
    path: str
    content: str | None
    stored: Sequence[StoredChunk]
    language: str
    member: int | None = None


def apply_edits(tree: WorkingTree, edits: Iterable[Edit], are_members: bool = False) -> list[PlannedRevision]:
    """Return what becomes of the files of a tree; raises what `WorkingTree.apply` raises."""
    return tree.apply(edits, are_members=are_members).planned()


def apply_and_compare(
    tree: WorkingTree, edits: Iterable[Edit], are_members: bool = False
) -> list[PlannedRevision]:
    """Return the same as `apply_edits`, with the difference that each change makes."""
    planned = apply_edits(tree, edits, are_members)
    return [
        replace(revision, change=replace(revision.change, made_diff=revision.change.diff()))
        for revision in planned
    ]


def derive_files(files: Sequence[FileToIndex]) -> list[FileIndex]:
    """Return what is derived of files.

    Raises:
        LimitExceeded: a file has more headings, list items, links or chunks than allowed.
    """
    return [_derive(file) for file in files]


def _derive(file: FileToIndex) -> FileIndex:
    if file.content is None:
        return deleted_file_index(file.path, file.stored)
    with naming_member(file.member):
        check_marks(file.name, file.content)
        derived = index(file.path, file.content, file.stored, analyzer_of(file.language))
        chunks = len(file.stored) - len(derived.removed) + len(derived.added)
        _check(file.name, chunks, MAX_CHUNKS_PER_FILE, "sections")
    return derived


def check_marks(name: str, content: str) -> None:
    """Refuse a text with more marks than are parsed in good time.

    Raises:
        LimitExceeded: it has more headings, list items, rows or links than allowed.
    """
    if len(content) <= MAX_HEADINGS:
        return  # it cannot have more
    _check(name, _count(_HEADING, content) + _count(_UNDERLINED, content), MAX_HEADINGS, "headings")
    _check(
        name,
        _count(_MARKED_LINE, content),
        MAX_MARKED_LINES,
        "lines that begin a list item, a row of a table or code",
    )
    _check(name, content.count("](") + content.count("[["), MAX_LINKS, "links")


def _count(pattern: re.Pattern[str], content: str) -> int:
    return sum(1 for _ in pattern.finditer(content))


def _check(name: str, found: int, limit: int, what: str) -> None:
    if found > limit:
        raise LimitExceeded(
            f"{name} has more than {limit:,} {what}.",
            hint="Split the text over several linked files.",
            limit=limit,
        )
