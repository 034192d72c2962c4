"""A document as chunks, the unit of search: Markdown by headings, other texts by what they are made of. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from memex.errors import LimitExceeded
from memex.store import markdown
from memex.store.documents.records import DocumentKind
from memex.store.documents.sections import parts_of
from memex.store.markdown import Description, tag_key
from memex.store.search import chunks
from memex.store.search.analyzer import analyzer_of
from memex.store.search.chunks import Chunk
from memex.store.search.index import FileIndex, StoredChunk, compare_chunks
from memex.store.writes.derivation import MAX_CHUNKS_PER_FILE, check_marks

BOM = "\ufeff"  # editors of Windows put it before a text; it stays there, and no passage holds it


@dataclass(frozen=True, slots=True)
class DocumentToIndex:
    """A document, and the chunks that the store holds of it.

    Attributes:
        path: relative to its root.
        tags: those that the client gave.
    """

    path: str
    kind: DocumentKind
    text: str
    tags: tuple[str, ...]
    stored: tuple[StoredChunk, ...] = ()


def index_documents(documents: Sequence[DocumentToIndex], language: str) -> list[FileIndex | tuple[str, str]]:
    """Return what is derived of each document, or the code and the message with which it is refused."""
    made: list[FileIndex | tuple[str, str]] = []
    for document in documents:
        try:
            made.append(index_document(document, language))
        except LimitExceeded as error:
            made.append((error.code, str(error)))
    return made


def index_document(document: DocumentToIndex, language: str) -> FileIndex:
    """Return what is derived of a document, as a change of what is stored of it.

    Raises:
        LimitExceeded: it has more headings or passages than allowed.
    """
    if document.kind == "markdown":
        check_marks(document.path, document.text)
    description, made = _read(document)
    if len(made) > MAX_CHUNKS_PER_FILE:
        raise LimitExceeded(f"{document.path} has more than {MAX_CHUNKS_PER_FILE:,} passages.")
    removed, shifted, added = compare_chunks(made, document.stored, analyzer_of(language))
    return FileIndex(
        title=description.title,
        tags=description.tags,
        tag_keys=tuple(map(tag_key, description.tags)),
        removed=removed,
        shifted=shifted,
        added=added,
    )


def _read(document: DocumentToIndex) -> tuple[Description, list[Chunk]]:
    lead = 1 if document.text.startswith(BOM) else 0
    text = document.text[lead:]
    if document.kind == "markdown":
        parsed = markdown.parse(text)
        described = _tagged(markdown.describe(document.path, parsed), document.tags)
        made = chunks.split(document.path, text, described, parsed) if text.strip() else []
    else:
        name = markdown.file_name(document.path)
        described = _tagged(Description(name[: markdown.MAX_TITLE_CHARS], (), None, ()), document.tags)
        made = list(_chunks(document.kind, text, described))
    if lead:
        made = [replace(chunk, start=chunk.start + lead, end=chunk.end + lead) for chunk in made]
    return described, made


def _chunks(kind: DocumentKind, text: str, described: Description) -> Iterator[Chunk]:
    for part in parts_of(kind, text):
        heading_path = (part.name,) if part.name else ()
        named = chunks.fields(described.title, described, heading_path)
        for start, end in chunks.cut_lines(text, part.start, part.end):
            yield Chunk(start, end, heading_path, "\n".join([*named, text[start:end]]))


def _tagged(described: Description, given: Sequence[str]) -> Description:
    known = {tag_key(tag) for tag in described.tags}
    more = tuple(tag for tag in dict.fromkeys(given) if tag_key(tag) not in known)
    return replace(described, tags=(*described.tags, *more)) if more else described
