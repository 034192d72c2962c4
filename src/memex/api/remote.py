"""The API over HTTP: `memex.remote.Remote`, and import and export of files, which need the format of vaults."""

import io
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memex.api.protocol import Document
from memex.call_context import CallContext
from memex.errors import InvalidPath, LimitExceeded, Refused, ValidationFailed
from memex.remote import TRANSFER_TIMEOUT_S, Remote, context_headers, new_tool_call_id

if TYPE_CHECKING:
    from memex.service.vaults.transfer_report import Progress
    from memex.service.vaults.vault_export import Writer
    from memex.sources.vault import Vault

MAX_ZIP_BYTES = 16 << 20  # of a vault, in one request


class RemoteMemex(Remote):
    """A service at an address, asked with one key: everything of `MemexApi`."""

    async def import_vault(
        self, context: CallContext, source: Path | bytes, *, progress: "Progress", **options: Any
    ) -> Document:
        """Write the Markdown files of a folder or a zip."""
        from memex.sources.vault import open_vault  # noqa: PLC0415  # other commands do not need it

        if isinstance(source, bytes):
            return await self._import(context, source, options)
        if (zipped := _content(source)) is not None:
            return await self._import(context, zipped, options)
        with open_vault(source) as vault:
            content, refused = _pack(vault, progress)
            done = await self._import(context, content, options)
        return _add_unsent_files(done, vault, refused)

    async def export_files(
        self,
        context: CallContext,
        writer: "Writer",
        *,
        source: str | None,
        all_projects: bool,
        progress: "Progress",
    ) -> Document:
        """Give all files, or those below the folder `source`, to a writer, and close the writer."""
        started_s = time.monotonic()
        own_id = context.tool_call_id or new_tool_call_id()
        with closing(writer):
            answer = await self.request(
                "GET",
                f"{self.base}/export",
                params={"from": source, "all_projects": all_projects},
                headers=context_headers(context.under(own_id)),
                timeout_s=TRANSFER_TIMEOUT_S,
            )
            call = await self.call(context, "memory_operation", {"tool_call_id": own_id})
            report = call["attempts"][0]["response"]
            done = {**report, "tool_call_id": own_id}
            _unpack(answer.content, writer, done, progress)
        return done | {"duration_s": round(time.monotonic() - started_s, 3)}

    async def _import(self, context: CallContext, content: bytes, options: Mapping[str, Any]) -> Document:
        if len(content) > MAX_ZIP_BYTES:
            raise LimitExceeded(
                f"The zip has {len(content):,} bytes; the limit over HTTP is {MAX_ZIP_BYTES:,}.",
                hint="Import its folders one at a time.",
                limit_bytes=MAX_ZIP_BYTES,
            )
        headers = context_headers(context.under(context.tool_call_id or new_tool_call_id()))
        answer = await self.request(
            "POST",
            f"{self.base}/import",
            params=options,
            headers=headers | {"Content-Type": b"application/zip"},
            content=content,
            timeout_s=TRANSFER_TIMEOUT_S,
        )
        return dict(answer.json())


def _content(source: Path) -> bytes | None:
    """Return the content of a file, or None for a folder; raises ValidationFailed."""
    if source.is_dir():
        return None
    try:
        return source.read_bytes()
    except OSError as error:
        raise ValidationFailed(
            f"There is no vault at {source}: {error.strerror}.",
            hint="Name a folder of Markdown files, or a zip of one.",
        ) from None


def _pack(vault: "Vault", progress: "Progress") -> tuple[bytes, list[Document]]:
    """Return the notes of a vault as a zip, and the notes that cannot be sent. The service checks their content."""
    from memex.sources.manifest import MANIFEST_NAME  # noqa: PLC0415  # as above
    from memex.sources.vault import ZipWriter  # noqa: PLC0415  # as above

    buffer, refused = io.BytesIO(), []
    with closing(ZipWriter(buffer)) as writer:
        if vault.manifest is not None:
            writer.add(MANIFEST_NAME, vault.manifest.render(), None)
        for number, name in enumerate(vault.notes, start=1):
            try:
                writer.add(name, vault.content(name), vault.written_at(name))
            except Refused as error:
                refused.append({"path": name, "code": error.code, "message": error.message})
            except UnicodeEncodeError:
                shown = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
                refused.append({"path": shown, "code": InvalidPath.code, "message": "The name is not UTF-8."})
            progress(number, len(vault.notes))
    return buffer.getvalue(), refused


def _add_unsent_files(done: Document, vault: "Vault", refused: list[Document]) -> Document:
    """Return the report on a folder: what the service did, and which files were not sent to it."""
    refused = refused + [
        {"path": refusal.name, "code": refusal.error.code, "message": refusal.error.message}
        for refusal in vault.refused
    ]
    done["refused"] = sorted([*done["refused"], *refused], key=lambda document: str(document["path"]))
    done["skipped"] = sorted([*done["skipped"], *vault.skipped])
    done["hidden"] = sorted([*done.get("hidden", []), *vault.hidden])
    done["counts"] |= {name: len(done[name]) for name in ("refused", "skipped", "hidden")}
    return done


def _unpack(content: bytes, writer: "Writer", done: Document, progress: "Progress") -> None:
    """Write the files of a zip, and report those that cannot be written here as refused.

    Raises:
        ValidationFailed: it is no zip, or nothing more can be written.
    """
    from memex.sources.vault import zipped_files  # noqa: PLC0415  # as above

    files = zipped_files(content)
    for number, file in enumerate(files, start=1):
        try:
            content = file.read()
        except Refused as error:
            _refuse(done, file.name, error, 0)
        else:
            try:
                writer.add(file.name, content, file.written_at)
            except InvalidPath as error:
                _refuse(done, file.name, error, len(content))
        progress(number, len(files))
    writer.close()


def _refuse(done: Document, name: str, error: Refused, size_bytes: int) -> None:
    done["refused"].append({"path": name, "code": error.code, "message": error.message})
    done["files"] -= 1
    done["size_bytes"] -= size_bytes
