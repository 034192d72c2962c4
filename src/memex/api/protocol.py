"""The protocol of a Memex, for the implementation in this process and for the one over HTTP."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from memex.call_context import CallContext

if TYPE_CHECKING:
    from memex.service.vaults.transfer_report import Progress
    from memex.service.vaults.vault_export import Writer

Document = dict[str, Any]  # of JSON


class CallsOperations(Protocol):
    """Runs the operations of `memex.routes`."""

    async def call(
        self,
        context: CallContext,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        lines: bytes | None = None,
    ) -> Document:
        """Run an operation for a context, and return its JSON; an argument that is None is absent.

        `lines` are the JSON lines that `document_manifest`, `document_put` and `conversation_put` take.
        """
        ...


class MemexApi(CallsOperations, Protocol):
    """A Memex. Each method acts for a context, answers with JSON, and raises MemexErrors."""

    async def me(self, context: CallContext) -> Document:
        """Return whose key this is, the mounts that are read for the user, and the version of the service."""
        ...

    async def execute(self, context: CallContext, tool: str, arguments: Mapping[str, Any]) -> Document:
        """Run a tool and return its result."""
        ...

    async def export_call(self, context: CallContext, tool_call_id: str) -> bytes:
        """Return a zip of a call with everything that its replay needs."""
        ...

    async def make_case(self, context: CallContext, tool_call_id: str, choice: Mapping[str, Any]) -> bytes:
        """Return a zip of a case of a call; `choice` has the fields of `CaseChoice`."""
        ...

    async def import_vault(
        self,
        context: CallContext,
        source: Path | bytes,
        *,
        into: str | None,
        dry_run: bool,
        projects: bool,
        replace: bool,
        progress: "Progress",
    ) -> Document:
        """Write the Markdown files of a folder, a zip or its bytes; `projects` and `replace` allow more."""
        ...

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
        ...
