"""The rows derived from a file's text for search, lists and links, and their difference from stored ones."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from memex.store import links, markdown
from memex.store.citations.syntax import without_any_citation
from memex.store.markdown import Description
from memex.store.search import chunks
from memex.store.search.analyzer import Analyzer
from memex.store.search.bm25 import RANKER_VERSION
from memex.store.search.chunks import CHUNKER_VERSION, Chunk
from memex.store.search.words.due import due_lexemes


def index_version(analyzer: Analyzer) -> str:
    """Return the versions that the chunks and lexemes of a scope depend on; the scope records them."""
    return f"{analyzer.engine} chunker-{CHUNKER_VERSION}"


# The versions that must be equal for the same state and query to give the same ranking. The `ENGINE` of
# `memex.subagent.engine`, which the log names, adds the versions of the planner and of the context format.
ENGINE = f"{index_version(Analyzer())} ranker-{RANKER_VERSION}"
MAX_KEY_CHARS = 512  # a longer target can be no path
MAX_RAW_CHARS = 1_000
MAX_ANCHOR_CHARS = 500


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk that the store holds.

    `frequencies` says how often each lexeme stands in a chunk whose row does not say it; None where the row does.
    """

    chunk_id: int
    start: int
    end: int
    heading_path: tuple[str, ...]
    sha256: bytes
    length: int
    frequencies: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class NewChunk:
    """A chunk to be stored: distinct lexemes with their frequencies side by side."""

    start: int
    end: int
    heading_path: tuple[str, ...]
    sha256: bytes
    lexemes: tuple[str, ...]
    tfs: tuple[int, ...]

    @classmethod
    def of(cls, chunk: Chunk, digest: bytes, frequencies: Mapping[str, int]) -> "NewChunk":
        """Return a chunk to be stored by the digest of its indexed text, and how often its lexemes stand there."""
        lexemes, tfs = tuple(frequencies), tuple(frequencies.values())
        return cls(chunk.start, chunk.end, chunk.heading_path, digest, lexemes, tfs)

    @property
    def length(self) -> int:
        """The number of lexemes of the chunk, repeats counted."""
        return sum(self.tfs)


@dataclass(frozen=True, slots=True)
class LinkRow:
    """One side of one link, as the table `link` has it."""

    ordinal: int
    side: int
    target_key: str
    raw: str
    anchor: str | None


@dataclass(frozen=True, slots=True)
class FileIndex:
    """Everything derived from a file, a document or a message, as a change of what is stored of it."""

    title: str = ""
    tags: tuple[str, ...] = ()
    tag_keys: tuple[str, ...] = ()
    path_key: str = ""
    name_key: str = ""
    pinned: bool = False
    dated: date | None = None
    removed: tuple[StoredChunk, ...] = ()
    shifted: tuple[tuple[int, int, int], ...] = ()  # chunk_id, start, end
    added: tuple[NewChunk, ...] = ()
    links: tuple[LinkRow, ...] = ()
    valid: str | None = None  # a `daterange`: the days on which the file says that it holds


def index(path: str, content: str, stored: Sequence[StoredChunk], analyzer: Analyzer) -> FileIndex:
    """Return what is derived from a file; only chunks whose indexed text is new are analysed.

    Args:
        path: relative to the scope.
        content: the whole file.
        stored: the chunks that the store holds of it.
        analyzer: the analyzer of the scope's language.
    """
    document = markdown.parse(content)
    description = markdown.describe(path, document)
    removed, shifted, added = compare_chunks(
        chunks.split(path, content, description, document), stored, analyzer
    )
    return replace(
        _describe(path, description),
        removed=removed,
        shifted=shifted,
        added=added,
        links=tuple(_link_rows(links.parse(content, path, document))),
    )


def text_digest(text: str) -> bytes:
    """Return the digest under which what a model made of a text is kept: the SHA-256 of its UTF-8."""
    return hashlib.sha256(text.encode()).digest()


def compare_chunks(
    made: Iterable[Chunk], stored: Sequence[StoredChunk], analyzer: Analyzer
) -> tuple[tuple[StoredChunk, ...], tuple[tuple[int, int, int], ...], tuple[NewChunk, ...]]:
    """Return how the chunks of a text differ from those that are stored: `removed`, `shifted` and `added`.

    Only chunks whose indexed text is new are analysed.
    """
    # Two heading paths may give one indexed text, which names a heading that is the title only once.
    unchanged: dict[tuple[bytes, tuple[str, ...]], list[StoredChunk]] = {}
    for known in reversed(stored):
        unchanged.setdefault((known.sha256, known.heading_path), []).append(known)
    shifted: list[tuple[int, int, int]] = []
    added: list[NewChunk] = []
    for chunk in made:
        digest = text_digest(chunk.indexed_text)
        if same := unchanged.get((digest, chunk.heading_path)):
            known = same.pop()
            if (known.start, known.end) != (chunk.start, chunk.end):
                shifted.append((known.chunk_id, chunk.start, chunk.end))
        else:
            added.append(NewChunk.of(chunk, digest, chunk_frequencies(chunk, analyzer)))
    removed = tuple(known for same in unchanged.values() for known in same)
    return removed, tuple(shifted), tuple(added)


def describe_file(path: str, content: str) -> FileIndex:
    """Return what lists and link resolution know of a file, without chunks and links: only heads have those."""
    return _describe(path, markdown.describe(path, content))


def deleted_file_index(path: str, stored: Sequence[StoredChunk]) -> FileIndex:
    """Return the index of a deleted file: nothing, where `stored` was."""
    path_key, name_key = links.path_keys(path)
    return FileIndex(path_key=path_key, name_key=name_key, removed=tuple(stored))


def _describe(path: str, description: Description) -> FileIndex:
    path_key, name_key = links.path_keys(path)
    return FileIndex(
        title=description.title,
        tags=description.tags,
        tag_keys=tuple(map(markdown.tag_key, description.tags)),
        path_key=path_key,
        name_key=name_key,
        pinned=description.pinned,
        dated=date.fromisoformat(description.day) if description.day else None,
        valid=day_range(*description.valid),
    )


def day_range(first: date | None, last: date | None) -> str | None:
    """Return the days from `first` to `last`, both included, as a `daterange`; None if neither is known."""
    if first is None and last is None:
        return None
    return f"[{first or ''},{last or ''}]"


def chunk_frequencies(chunk: Chunk, analyzer: Analyzer) -> Counter[str]:
    """Return the lexemes by which search finds a chunk, with their frequencies; those of citations do not count."""
    text = without_any_citation(chunk.indexed_text)
    return Counter([*analyzer.passage_lexemes(text), *due_lexemes(text)])


def _link_rows(parsed: Iterable[links.ParsedLink]) -> Iterable[LinkRow]:
    for ordinal, link in enumerate(parsed):
        for side, target in enumerate(link.targets):
            if len(target) <= MAX_KEY_CHARS:
                yield LinkRow(
                    ordinal,
                    side,
                    target,
                    link.raw[:MAX_RAW_CHARS],
                    link.anchor and link.anchor[:MAX_ANCHOR_CHARS],
                )
