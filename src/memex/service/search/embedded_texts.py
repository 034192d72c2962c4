"""The texts of a file that are embedded: those of its passages, and the lines in each. Pure."""

from bisect import bisect_right
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from memex.store.search import vectors
from memex.store.search.index import text_digest
from memex.subagent.context.pool import embedded_lines


@dataclass(frozen=True, slots=True)
class FileTexts:
    """The texts of a file by their digests.

    Attributes:
        texts: by which its passages are indexed.
        statements: for the digest of a passage, the lines that begin in it, by their own digests.
    """

    texts: Mapping[bytes, str]
    statements: Mapping[bytes, Mapping[bytes, str]]

    def of(self, digests: Collection[bytes]) -> "FileTexts":
        """Return those of some passages; digests of others do not count."""
        kept = sorted(self.texts.keys() & digests)
        return FileTexts(
            {sha256: self.texts[sha256] for sha256 in kept},
            {sha256: self.statements[sha256] for sha256 in kept if sha256 in self.statements},
        )


def read_texts(mount: str, path: str, content: str) -> FileTexts:
    """Return the texts of a file; the lines of files that `memory_remember` writes are embedded by themselves too.

    The path is relative to the mount.
    """
    by_span = vectors.texts_by_span(path, content)
    digests = {span: text_digest(text) for span, text in by_span.items()}
    statements: dict[bytes, dict[bytes, str]] = {}
    spans = sorted(by_span)
    starts = [start for start, _ in spans]
    for start, text in embedded_lines(f"{mount}/{path}", content):
        at = bisect_right(starts, start) - 1
        if text and at >= 0:
            statements.setdefault(digests[spans[at]], {})[text_digest(text)] = text
    return FileTexts({digests[span]: text for span, text in by_span.items()}, statements)
