"""A Markdown file of a vault on its way into memory."""

import hashlib
from dataclasses import dataclass
from datetime import datetime

from memex.sources.manifest import ExportedFile
from memex.store.writes.histories import IncomingText


@dataclass(frozen=True, slots=True)
class ImportedNote:
    """A file of a vault, and the path that it gets.

    Attributes:
        name: its name in the vault.
        written_at: the time of the file, if the vault says it.
        exported: what the manifest of an export of Memex says of the file.
        sha256: of the text, in hex.
    """

    name: str
    path: str
    text: str
    sha256: str
    written_at: datetime | None
    exported: ExportedFile | None

    @property
    def incoming(self) -> IncomingText:
        """The text as the store compares it with the history of its path."""
        base = self.exported
        if base is None:
            return IncomingText(self.path, self.sha256)
        return IncomingText(self.path, self.sha256, base.version, base.sha256)


def digest(text: str) -> str:
    """Return the SHA-256 of a text, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()
