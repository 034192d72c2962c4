"""Documents and their roots, as answers show them."""

from datetime import datetime

from memex.service.tools.tool import ReadAnswer, ResultPart
from memex.store.access import Access
from memex.store.documents.records import DocumentHit, DocumentKind, DocumentRoot, MirroredDocument, RootState
from memex.store.documents.roots import may_change


class DocumentResult(ResultPart):
    """A document; `reference` names it anywhere, and `path` in its root. `project` is null for the user's own."""

    reference: str
    root: str
    project: str | None
    path: str
    version: int
    kind: DocumentKind
    title: str
    tags: list[str]
    sha256: str
    size_bytes: int
    changed_at: str | None
    updated_at: str
    owner: str | None


class DocumentTextResult(ReadAnswer):
    """A document with its text, as it was pushed last."""

    document: DocumentResult
    text: str


class DocumentHitResult(ResultPart):
    """A passage of a document that was found: `text` from `start` to `end`, and what stands above it.

    `similarity` is the cosine similarity to the query; null if the passage was not found by its vector.
    """

    document: DocumentResult
    heading: list[str]
    start: int
    end: int
    text: str
    score: int
    similarity: float | None


class LeftOutResult(ResultPart):
    """A file that the client left out, and why."""

    path: str
    reason: str


class RootResult(ResultPart):
    """A folder that is mirrored.

    `state` is `syncing` until a sync has come to its end, `complete` after it, and `removing` while the root is
    removed. `is_watched` says whether a client watches the folder now. `left_out` counts the files that the client
    left out, by reason, and `examples` are some of them.
    `may_change` says whether the caller may push to the root and remove it.
    """

    root: str
    project: str | None
    owner: str | None
    state: RootState
    sync: int
    client: str
    began_at: str | None
    heard_at: str | None
    completed_at: str | None
    is_watched: bool
    documents: int
    text_bytes: int
    passages: int
    patterns: list[str]
    left_out: dict[str, int]
    examples: list[LeftOutResult]
    may_change: bool


def project_of(mount: str) -> str | None:
    """Return the project of a mount; None for the user's own."""
    return mount.removeprefix("projects/") if mount.startswith("projects/") else None


def document_result(document: MirroredDocument) -> DocumentResult:
    """Return a document as an answer shows it."""
    return DocumentResult.taken_from(
        document,
        project=project_of(document.mount),
        sha256=document.sha256.hex(),
        owner=document.owner or None,
    )


def hit_result(hit: DocumentHit) -> DocumentHitResult:
    """Return a passage as an answer shows it."""
    start, end = hit.span
    return DocumentHitResult.taken_from(hit, document=document_result(hit.document), start=start, end=end)


def root_result(root: DocumentRoot, access: Access, now: datetime) -> RootResult:
    """Return a root as an answer shows it to a caller at a time."""
    return RootResult.taken_from(
        root,
        root=root.name,
        project=project_of(root.mount),
        owner=root.owner or None,
        is_watched=root.is_watched(now),
        examples=[dict(example) for example in root.examples],
        may_change=may_change(access, root.owner),
    )
