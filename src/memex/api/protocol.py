"""What can be asked of a Memex: one protocol for the implementation in this process and the one over HTTP."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from memex.call_context import CallContext

if TYPE_CHECKING:
    from memex.api.conversations import ConversationsApi
    from memex.api.documents.documents import DocumentsApi
    from memex.api.work.work import WorkApi
    from memex.service.review.items import Decision, ItemKind
    from memex.service.vaults.transfer_report import Progress
    from memex.service.vaults.vault_export import Writer
    from memex.store.access import SecretPolicy

Document = dict[str, Any]  # of JSON
ReplayableKind = Literal["context", "remember", "reads", "all"]


class MemexApi(Protocol):
    """The operations of a Memex. Each acts for a context, answers with JSON, and raises MemexErrors."""

    @property
    def conversations(self) -> "ConversationsApi":
        """What can be asked about imported conversations."""
        ...

    @property
    def documents(self) -> "DocumentsApi":
        """What can be asked about documents."""
        ...

    @property
    def work(self) -> "WorkApi":
        """What can be asked about work."""
        ...

    async def me(self, context: CallContext) -> Document:
        """Return whose key this is, the mounts that are read for the user, and the version of the service."""
        ...

    async def execute(self, context: CallContext, tool: str, arguments: Mapping[str, Any]) -> Document:
        """Run a tool and return its result."""
        ...

    async def tidy(self, context: CallContext, *, project: str | None, dry_run: bool) -> Document:
        """Group the statements of files by their topics."""
        ...

    async def review(
        self,
        context: CallContext,
        *,
        kind: "ItemKind | None" = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Document:
        """Return what waits for a person."""
        ...

    async def decide_review(self, context: CallContext, decisions: "Mapping[str, Decision]") -> Document:
        """Carry out decisions about what waits, by the ids of the items."""
        ...

    async def revert(self, context: CallContext, reverted: str, *, reason: str | None = None) -> Document:
        """Undo everything that a call wrote."""
        ...

    async def operations(
        self,
        context: CallContext,
        filters: Mapping[str, Any] | None = None,
        *,
        limit: int,
        cursor: str | None = None,
    ) -> Document:
        """Return the calls that pass the filters of `CallQuery`, by default all of the user, the newest first."""
        ...

    async def operation(self, context: CallContext, tool_call_id: str) -> list[Document]:
        """Return the attempts at a call, the newest first."""
        ...

    async def replayable(
        self,
        context: CallContext,
        *,
        which: ReplayableKind = "all",
        since: datetime | None = None,
        only_degraded: bool = False,
        limit: int = 1_000,
    ) -> Sequence[str]:
        """Return the ids of the calls that can be replayed, the newest first."""
        ...

    async def replay(self, context: CallContext, tool_call_id: str, changes: Mapping[str, Any]) -> Document:
        """Run a call again and compare: as it was, or if `changes` are given, with these changes."""
        ...

    async def export_call(self, context: CallContext, tool_call_id: str) -> bytes:
        """Return a zip of a call with everything that its replay needs."""
        ...

    async def catalogue(self, context: CallContext, *, max_chars: int) -> str:
        """Return a line for each file, at most `max_chars` characters."""
        ...

    async def prompt_block(
        self,
        context: CallContext,
        *,
        budget: int | None = None,
        project: str | None = None,
        profile: Literal["agent", "project"] | None = None,
    ) -> Document:
        """Return the text for a system prompt."""
        ...

    async def blame(self, context: CallContext, path: str, version: int | None = None) -> Document:
        """Return who wrote each line of a file."""
        ...

    async def browse(self, context: CallContext, arguments: Mapping[str, Any]) -> Document:
        """Return mounts, the folders below a prefix, and the files that pass filters; see `GET /v1/folders`."""
        ...

    async def changes(
        self, context: CallContext, *, limit: int = 50, until: datetime | str | None = None
    ) -> Document:
        """Return the newest changes of all mounts, the newest first."""
        ...

    async def journal(self, context: CallContext, arguments: Mapping[str, Any]) -> Document:
        """Return the months of the journal, and its days or the entries of a day; see `GET /v1/journal`."""
        ...

    async def topics(self, context: CallContext, *, project: str | None = None, limit: int = 100) -> Document:
        """Return the tags of a project, or of all files, with how many files bear each."""
        ...

    async def explain_find(self, context: CallContext, arguments: Mapping[str, Any]) -> Document:
        """Return why a search with these arguments shows the file at `path`, or does not."""
        ...

    async def calls_that_saw(
        self,
        context: CallContext,
        path: str,
        version: int | None = None,
        *,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Document:
        """Return the calls that saw a version of a file, by default the newest; the newest call first."""
        ...

    async def revisions_seen(self, context: CallContext, tool_call_id: str) -> Document:
        """Return the versions of files that a call saw, and what it wrote."""
        ...

    async def queue(self, context: CallContext, *, limit: int = 100, cursor: str | None = None) -> Document:
        """Return the calls that wait in the queue or failed there, the oldest first."""
        ...

    async def retry(self, context: CallContext, tool_call_id: str) -> Document:
        """Put a failed call back into the queue."""
        ...

    async def retry_all(self, context: CallContext) -> Document:
        """Put all failed calls back into the queue, in the order in which they were accepted."""
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

    async def spending(self, context: CallContext, *, days: int) -> Document:
        """Return the tokens and costs of models in the last days."""
        ...

    async def list_users(
        self, context: CallContext, *, limit: int = 100, cursor: str | None = None, query: str = ""
    ) -> Document:
        """Return the tenant's users, or those whose id contains a text, with what each stores."""
        ...

    async def read_user(self, context: CallContext, user: str) -> Document:
        """Return how much a user stores and may store, and its projects."""
        ...

    async def health(self, context: CallContext) -> Document:
        """Return whether the service works, and the figures of the tenant."""
        ...

    async def erase_user(self, context: CallContext, user: str, *, dry_run: bool = False) -> Document:
        """Remove a user for good, or count what would be removed, and return the receipt."""
        ...

    async def list_erasures(
        self, context: CallContext, *, limit: int = 100, cursor: str | None = None
    ) -> Document:
        """Return the receipts of erased users, the newest first."""
        ...

    async def list_quotas(self, context: CallContext) -> Document:
        """Return what the tenant stores and may store, and the quotas of its users and projects."""
        ...

    async def set_quota(
        self,
        context: CallContext,
        kind: Literal["tenant", "user", "project"],
        name: str,
        limits: Mapping[str, int],
    ) -> Document:
        """Set all limits of a tenant, a user or a project; an empty name stands for all users, or projects."""
        ...

    async def draft_case(
        self, context: CallContext, tool_call_id: str, choice: Mapping[str, Any]
    ) -> Document:
        """Return what a case of a call would contain; `choice` has the fields of `CaseChoice`."""
        ...

    async def make_case(self, context: CallContext, tool_call_id: str, choice: Mapping[str, Any]) -> bytes:
        """Return a zip of a case of a call."""
        ...

    async def keep_case(self, context: CallContext, tool_call_id: str, choice: Mapping[str, Any]) -> Document:
        """Keep a case of a call in the folder of the service."""
        ...

    async def show_secret_policies(self, context: CallContext) -> Document:
        """Return what the tenant does about secrets in texts to remember and in files."""
        ...

    async def set_secret_policies(
        self, context: CallContext, *, remember: "SecretPolicy | None", files: "SecretPolicy | None"
    ) -> Document:
        """Set what the tenant does about secrets; None for what the settings of the service say."""
        ...

    async def scan_secrets(
        self,
        context: CallContext,
        *,
        all_users: bool = False,
        history: bool = False,
        cursor: str | None = None,
    ) -> Document:
        """Return where secrets stand that are stored already, a page at a time."""
        ...

    async def init_project(self, context: CallContext, slug: str) -> Document:
        """Make a project of which the user is a member, where agents may; see `POST /v1/projects`."""
        ...

    async def list_projects(self, context: CallContext) -> Document:
        """Return the open projects with their members."""
        ...

    async def open_project(self, context: CallContext, slug: str) -> Document:
        """Create a project, or reopen it."""
        ...

    async def close_project(self, context: CallContext, slug: str) -> Document:
        """Close a project; its files stay."""
        ...

    async def set_member(self, context: CallContext, slug: str, user: str, *, member: bool) -> Document:
        """Add a user to the members of a project, or remove the user."""
        ...

    async def create_key(
        self, context: CallContext, role: Literal["agent", "admin"], user: str | None, label: str | None
    ) -> Document:
        """Make a key; its secret is in this answer and nowhere else."""
        ...

    async def list_keys(self, context: CallContext) -> Document:
        """Return the keys of the tenant, without their secrets."""
        ...

    async def revoke_key(self, context: CallContext, key: int) -> Document:
        """Revoke a key of the tenant."""
        ...
