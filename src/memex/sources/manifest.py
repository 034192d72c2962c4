"""The manifest of an export: which version of memory each file was, and when the export was made. Pure.

A manifest is a file of JSON lines: the first one is about the export, each other one about a file. It is read line
by line, so that a hostile one cannot ask for much more memory than its own size.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from memex.errors import ValidationFailed

MANIFEST_NAME = ".memex-export.jsonl"
MAX_MANIFEST_BYTES = 16 << 20
MAX_LINE_BYTES = 8_192  # a path has at most 512 characters
FORMAT = 1
MAX_VERSION = 2**31 - 1

_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_DAMAGED = (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError)


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """The version of a file that an export holds, and the digest of its text."""

    version: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ExportManifest:
    """The manifest of an export.

    Attributes:
        exported_at: the moment at which memory was read.
        source: the virtual folder that was exported, to which names are relative; "" for everything.
        files: what each file was, by its name in the export.
    """

    exported_at: datetime
    source: str
    files: Mapping[str, ExportedFile]

    def render(self) -> bytes:
        """Return the manifest as a file."""
        return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in self._lines()).encode()

    def _lines(self) -> Iterator[dict[str, Any]]:
        exported_at = self.exported_at.astimezone(UTC).isoformat(timespec="microseconds")
        yield {"format": FORMAT, "exported_at": exported_at, "from": self.source}
        for name, file in self.files.items():
            yield {"name": name, "version": file.version, "sha256": file.sha256}


def parse_manifest(content: bytes) -> ExportManifest:
    """Return what a manifest says.

    Raises:
        ValidationFailed: it is damaged, or of a format that this version of Memex does not know.
    """
    try:
        lines = map(_parse_line, content.splitlines())
        head: Any = next(lines, {})
        exported_at = datetime.fromisoformat(head["exported_at"])
        if head["format"] != FORMAT or exported_at.tzinfo is None:
            raise ValueError("another format")
        files = {str(said["name"]): _file(said) for said in lines}
        return ExportManifest(exported_at.astimezone(UTC), str(head["from"]), files)
    except _DAMAGED:
        raise ValidationFailed(
            "It does not say which versions the files are.", hint="Import an export as Memex wrote it."
        ) from None


def _parse_line(line: bytes) -> Any:
    if len(line) > MAX_LINE_BYTES:
        raise ValueError("a long line")
    return json.loads(line)


def _file(said: Any) -> ExportedFile:
    version, sha256 = said["version"], said["sha256"]
    if type(version) is not int or not 0 < version <= MAX_VERSION or not _SHA256.fullmatch(sha256):
        raise ValueError("no version of a file")
    return ExportedFile(version, sha256)
