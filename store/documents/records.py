"""Documents as the store takes and gives them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

DocumentKind = Literal["markdown", "text", "json", "yaml", "toml", "code"]
DocumentChange = Literal["created", "changed", "renamed", "unchanged", "removed", "refused"]
RootState = Literal["syncing", "complete", "removing"]

MAX_NAME_CHARS = 63
KIND_BY_ENDING: Mapping[str, DocumentKind] = {
    **dict.fromkeys(("md", "mdx", "markdown"), "markdown"),
    **dict.fromkeys(("pdf", "docx", "html", "htm"), "markdown"),  # clients send the text of them as Markdown
    **dict.fromkeys(("txt", "rst"), "text"),
    "json": "json",
    **dict.fromkeys(("yaml", "yml"), "yaml"),
    "toml": "toml",
    **dict.fromkeys(
        (
            "py", "js", "ts", "tsx", "jsx", "go", "rs", "java", "rb", "c", "h", "cpp", "hpp", "cs", "php", "swift",
            "kt", "scala", "sh", "sql", "lua",
        ),
        "code",
    ),
}  # fmt: skip


def kind_of(path: str) -> DocumentKind:
    """Return what a document is by the ending of its path: text if the ending says nothing."""
    return KIND_BY_ENDING.get(path.rpartition("/")[2].rpartition(".")[2].lower(), "text")


def document_path(mount: str, root: str, path: str) -> str:
    """Return how a document is named outside its root, such as `documents/projects/shop/repo/docs/a.md`."""
    return f"documents/{mount}/{root}/{path}"


def parse_document_path(text: str) -> tuple[str, str, str] | None:
    """Return mount, root and path that `document_path` made one of; None if the text is no such path."""
    first, _, rest = text.partition("/")
    mount, _, rest = rest.partition("/")
    if mount == "projects":
        slug, _, rest = rest.partition("/")
        mount = f"projects/{slug}"
    root, _, path = rest.partition("/")
    if first != "documents" or not (mount == "user" or mount.startswith("projects/")) or not (root and path):
        return None
    return mount, root, path


@dataclass(frozen=True, slots=True)
class DocumentLimits:
    """The limits of one user or project: how many documents, and how many bytes of their texts."""

    documents: int
    text_bytes: int


DEFAULT_LIMITS = DocumentLimits(documents=200_000, text_bytes=2_000_000_000)


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file of a manifest."""

    path: str
    sha256: bytes


@dataclass(frozen=True, slots=True)
class WantedFile:
    """A file whose text the store lacks; `same_as` are paths of the root under which it has the same text."""

    path: str
    same_as: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ManifestComparison:
    """The differences of a page of a manifest from the store; `stored` counts all documents of the root."""

    sync: int
    wanted: tuple[WantedFile, ...]
    gone: tuple[str, ...]
    unchanged: int
    stored: int


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A file as a client sends it: with its text, as a rename of a stored one, or as one that is gone.

    Attributes:
        path: relative to the root.
        sha256: of the text in UTF-8; b"" for one that is gone.
        text: None for a rename, and for one that is gone.
        tags: the client's; None keeps those that are stored.
        changed_at: the time of the file.
        renamed_from: the path under which the same text is stored.
        is_removed: the file is gone.
        refusal: the code and the message with which the file is refused; `drops` also removes what is stored of it.
        drops: see `refusal`.
    """

    path: str
    sha256: bytes = b""
    text: str | None = None
    tags: tuple[str, ...] | None = None
    changed_at: datetime | None = None
    renamed_from: str | None = None
    is_removed: bool = False
    refusal: tuple[str, str] | None = None
    drops: bool = False


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """The outcome for a file; `refusal` is the code and the message with which it was refused."""

    path: str
    change: DocumentChange
    refusal: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class DocumentRoot:
    """A folder of a client, as it is mirrored.

    Attributes:
        mount: whose it is: `user`, or `projects/<slug>`.
        owner: the user who pushes it; "" for an admin, or a user who was erased.
        sync: the number of the newest sync.
        client: that runs it, as it names itself.
        completed_at: when a sync last came to its end; None before the first one did.
        passages: in the index.
        watched_until: a client watches the folder and says so again before that; None if none does.
        left_out: how many files the client left out, by reason; `examples` are some of them.
    """

    mount: str
    name: str
    owner: str
    state: RootState
    sync: int
    client: str
    began_at: datetime | None
    heard_at: datetime | None
    completed_at: datetime | None
    documents: int
    text_bytes: int
    passages: int
    watched_until: datetime | None = None
    patterns: tuple[str, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    examples: tuple[Mapping[str, Any], ...] = ()

    def is_watched(self, now: datetime) -> bool:
        """Return whether a client watches the folder."""
        return self.watched_until is not None and self.watched_until > now


@dataclass(frozen=True, slots=True)
class MirroredDocument:
    """A document, without its text; `path` is relative to its root."""

    mount: str
    root: str
    owner: str
    path: str
    version: int
    kind: DocumentKind
    title: str
    tags: tuple[str, ...]
    sha256: bytes
    size_bytes: int
    changed_at: datetime | None
    updated_at: datetime

    @property
    def reference(self) -> str:
        """The name of the document outside its root."""
        return document_path(self.mount, self.root, self.path)


@dataclass(frozen=True, slots=True)
class DocumentFilters:
    """Conditions on the documents that a search looks at; they do not change what a word is worth.

    Attributes:
        root: the name of a root; None for all.
        prefix: how the path within the root begins.
        tag_keys: the document bears all of these tags, in the form in which tags are compared.
    """

    root: str | None = None
    prefix: str = ""
    tag_keys: tuple[str, ...] = ()

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of a statement that filters."""
        return {"root": self.root, "prefix": self.prefix, "tags": list(self.tag_keys)}


@dataclass(frozen=True, slots=True)
class DocumentHit:
    """A passage of a document that was found.

    Attributes:
        document: without its text.
        heading: the headings, keys or names above the passage.
        span: in the text.
        share: the words of the query that the passage holds, in percent of their weight.
        similarity: of its text to the query in meaning, from -1 to 1; None if it was not found by its vector.
    """

    document: MirroredDocument
    heading: tuple[str, ...]
    span: tuple[int, int]
    text: str
    score: int = 0
    share: int = 0
    similarity: float | None = None
