"""Zip archives in memory."""

import io
import zipfile
from collections.abc import Mapping
from typing import Any

from memex.sources.manifest import MANIFEST_NAME


def zipped(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip of files; the same files give the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return buffer.getvalue()


def unzipped(data: bytes) -> dict[str, bytes]:
    """Return the files of a zip."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def exported(data: bytes) -> dict[str, bytes]:
    """Return the files of an export, without its manifest."""
    return {name: content for name, content in unzipped(data).items() if name != MANIFEST_NAME}


def register_zip_bodies() -> None:
    """Let schemathesis send a zip whose one note holds what it generated: other bytes are hardly ever a zip."""
    import schemathesis  # a second of loading

    @schemathesis.serializer("application/zip")
    def zipped_note(_: Any, value: Any) -> bytes:
        generated = getattr(value, "data", value)
        return zipped({"note.md": generated.encode() if isinstance(generated, str) else generated})
