"""Documents as lines of JSON: a manifest of a folder, and files as a client sends them."""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationError, model_validator

from memex.errors import ValidationFailed
from memex.service.conversations.putting import Digest, Time
from memex.service.tools.tool import Arguments, StorableText, describe_problem
from memex.store.documents.put import MAX_FILES
from memex.store.documents.records import ListedFile, NewDocument
from memex.store.paths import document_path_fault
from memex.subagent.statements.secrets.finding import find_secrets

MAX_LINES = 50_000  # of a page of a manifest
MAX_TEXT_BYTES = 1 << 20
MAX_TAGS = 20
MAX_TAG_CHARS = 100

ROOT_PATTERN = r"^[a-z0-9][a-z0-9._-]{0,62}$"
DIGEST_MISMATCH = "DIGEST_MISMATCH"
SECRET_REFUSED = "SECRET_REFUSED"  # noqa: S105  # the code of a refusal
VALIDATION_ERROR = "VALIDATION_ERROR"

NO_JSON = "it is no JSON object"
KEY_TWICE = "an object has a key twice"

_DIGEST = re.compile(r"[0-9a-f]{64}")


def check_document_path(path: str) -> str:
    """Return a path within a root, unchanged; raises ValueError, which says what is wrong."""
    if fault := document_path_fault(path):
        raise ValueError(fault)
    return path


DocumentPath = Annotated[str, AfterValidator(check_document_path)]
Tag = Annotated[StorableText, Field(min_length=1, max_length=MAX_TAG_CHARS)]


class FileLine(Arguments):
    """A file as a client sends it: with its `text`, as `renamed_from` another path, or as `is_removed`."""

    path: DocumentPath
    sha256: Digest | None = None
    text: str | None = None
    tags: Annotated[list[Tag] | None, Field(max_length=MAX_TAGS)] = None
    changed_at: Time | None = None
    renamed_from: DocumentPath | None = None
    is_removed: bool = False

    @model_validator(mode="after")
    def check_one(self) -> "FileLine":
        """Refuse a line that says none of the three, or two of them."""
        said = (self.text is not None) + (self.renamed_from is not None) + self.is_removed
        if said != 1:
            raise ValueError("a file has one of: text, renamed_from, is_removed")
        if self.sha256 is None and not self.is_removed:
            raise ValueError("sha256 is missing")
        return self

    def document(self) -> NewDocument:
        """Return the file as the store takes it, refused if its text does not fit."""
        refusal = _refusal(self.text, self.sha256) if self.text is not None else None
        return NewDocument(
            path=self.path,
            sha256=bytes.fromhex(self.sha256 or ""),
            text=self.text if refusal is None else None,
            tags=None if self.tags is None else tuple(self.tags),
            changed_at=self.changed_at,
            renamed_from=self.renamed_from,
            is_removed=self.is_removed,
            refusal=refusal,
        )


def parse_manifest(body: bytes, *, after: str | None, until: str | None) -> list[ListedFile]:
    """Return the files of a page of a manifest.

    Raises:
        ValidationFailed: a line is malformed, out of order, or beyond the bounds of the page; the message names it.
    """
    files: list[ListedFile] = []
    last = after or ""
    for number, line in _lines(body, MAX_LINES, "lines"):
        file = _listed(number, line)
        if file.path <= last:
            raise ValidationFailed(
                f"Line {number}: the path does not come behind the one before it.",
                hint="Send the paths in ascending order of their characters, each once, behind `after`.",
            )
        if until is not None and file.path > until:
            raise ValidationFailed(f"Line {number}: the path comes behind `until`.")
        last = file.path
        files.append(file)
    return files


def parse_files(body: bytes) -> list[FileLine]:
    """Return the files of a request.

    Raises:
        ValidationFailed: a line is malformed, or a path comes twice; the message names the line.
    """
    files: list[FileLine] = []
    seen: set[str] = set()
    for number, line in _lines(body, MAX_FILES, "files"):
        file = _sent(number, line)
        if file.path in seen:
            raise ValidationFailed(
                f"Line {number}: the path comes twice.", hint="Send each file once in a request."
            )
        seen.add(file.path)
        files.append(file)
    if not files:
        raise ValidationFailed("The request has no file.", hint="Send JSON lines, a file a line.")
    return files


def to_documents(files: Sequence[FileLine], finds_secrets: bool) -> list[NewDocument]:
    """Return files as the store takes them; a text that does not fit its digest, or holds a secret, is refused.

    What was stored of a file that holds a secret now is removed.
    """
    documents = [file.document() for file in files]
    return [
        _guarded(document) if finds_secrets and document.text is not None else document
        for document in documents
    ]


def _guarded(document: NewDocument) -> NewDocument:
    if found := find_secrets(document.text or ""):
        message = f"The text looks like it holds a secret ({found[0].kind})."
    elif found := [secret for tag in document.tags or () for secret in find_secrets(tag)]:
        message = f"A tag looks like a secret ({found[0].kind})."
    else:
        return document
    return NewDocument(document.path, document.sha256, refusal=(SECRET_REFUSED, message), drops=True)


def _refusal(text: str, sha256: str | None) -> tuple[str, str] | None:
    """Return the code and the message with which a text is refused; None if it is not."""
    try:
        stored = text.encode()
    except UnicodeEncodeError:
        return VALIDATION_ERROR, "The text holds a lone surrogate."
    if "\0" in text:
        return VALIDATION_ERROR, "The text holds a NUL character: it is no text."
    if len(stored) > MAX_TEXT_BYTES:
        return "LIMIT_EXCEEDED", f"The text has {len(stored):,} bytes in UTF-8, over {MAX_TEXT_BYTES:,}."
    if hashlib.sha256(stored).hexdigest() != sha256:
        return (
            DIGEST_MISMATCH,
            "The digest is not that of the text in UTF-8: the file changed while it was read.",
        )
    return None


def _lines(body: bytes, limit: int, what: str) -> Iterator[tuple[int, bytes]]:
    lines = [(number, line) for number, line in enumerate(body.split(b"\n"), start=1) if line.strip()]
    if len(lines) > limit:
        raise ValidationFailed(
            f"The request has {len(lines):,} {what}, over {limit:,}.", hint="Send them in several requests."
        )
    yield from lines


def _sent(number: int, line: bytes) -> FileLine:
    try:
        return FileLine.model_validate(json.loads(line, object_pairs_hook=_once))
    except ValidationError as error:
        problem = describe_problem(error.errors(include_url=False)[0]).strip()
    except RecursionError:
        problem = NO_JSON
    except ValueError as error:
        problem = str(error) if str(error) == KEY_TWICE else NO_JSON
    raise ValidationFailed(f"Line {number}: {problem}.")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; raises ValueError if it has a key twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(KEY_TWICE)
    return found


def _listed(number: int, line: bytes) -> ListedFile:
    try:
        file = json.loads(line, object_pairs_hook=_once)
        path, sha256 = file["path"], file["sha256"]
        if not (isinstance(path, str) and isinstance(sha256, str) and _DIGEST.fullmatch(sha256)):
            raise ValueError("sha256 is malformed")
        if unknown := file.keys() - {"path", "sha256", "size_bytes"}:
            raise ValueError(f"there is no argument {min(unknown)[:100]}")
        return ListedFile(check_document_path(path), bytes.fromhex(sha256))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        said = str(error) if type(error) is ValueError else "it is no object with path and sha256"
        raise ValidationFailed(f"Line {number}: {said}.") from None
