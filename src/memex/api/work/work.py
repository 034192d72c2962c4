"""The state of work, from Python: `memory.work.show("apollo")`."""

from collections.abc import Sequence
from datetime import date, datetime

from memex.api.user_calls import operation
from memex.api.work.places import WorkPlaces
from memex.service.work.health import WorkHealthResult, WorkPolicyResult, WorkRepairedResult
from memex.service.work.provenance import WorkProvenanceResult
from memex.service.work.results import (
    WorkChangesResult,
    WorkCheckResult,
    WorkMarkResult,
    WorkRebuildResult,
    WorkResult,
)
from memex.subagent.work.records import MarkAction


class Work(WorkPlaces):
    """The state of one user's work, as sessions with agents and the project's memory say."""

    @operation("work_show")
    async def show(
        self,
        project: str | None = None,
        *,
        session: str | None = None,
        as_of: datetime | None = None,
        tool_call_id: str | None = None,
    ) -> WorkResult:
        """Return what is wanted, open, in the way and done, each with its source.

        `project` is a slug, or the label that sessions have; `session` is the id of one session instead. `as_of`
        is a moment at which the work stood so.

        Raises:
            ProjectNotFound: no project and no session of the user has this name.
            ConversationNotFound: the user has no such session.
        """

    @operation("work_check")
    async def check(
        self, project: str | None = None, *, session: str | None = None, tool_call_id: str | None = None
    ) -> WorkCheckResult:
        """Return whether the work is done and what proves it, or the reasons why not; raises as `show`."""

    @operation("work_changes")
    async def changes(
        self,
        project: str | None = None,
        *,
        session: str | None = None,
        since: datetime | None = None,
        state: str | None = None,
        tool_call_id: str | None = None,
    ) -> WorkChangesResult:
        """Return what changed since a moment, or since the `state` of an earlier answer; raises as `show`."""

    @operation("work_mark", item="id")
    async def mark(
        self,
        item: str,
        action: MarkAction,
        *,
        ends_on: date | None = None,
        project: str | None = None,
        session: str | None = None,
        tool_call_id: str | None = None,
    ) -> WorkMarkResult:
        """Note what is decided about an item.

        Args:
            item: its id.
            action: `done`, `drop` or `archive`, which `restore` takes back; `keep` remembers it in memory; `pin`
                and `unpin`, `leave_out` and `bring_in` say how packs name it; `end` ends it after a day.
            ends_on: of `end`, the last day on which it holds, in UTC; None if it does not end.
            project: where the item is looked for; by default in all sessions, and in the project of the context.
            session: or in one session.
            tool_call_id: the id under which the call is logged.

        Raises:
            WorkItemNotFound: the user has no such item.
            ValidationFailed: the item is over already, or there is nothing to restore.
        """

    @operation("work_provenance", item="id")
    async def provenance(
        self,
        item: str,
        *,
        project: str | None = None,
        session: str | None = None,
        tool_call_id: str | None = None,
    ) -> WorkProvenanceResult:
        """Return where an item comes from: each text that says it, and each decision about it.

        Raises:
            WorkItemNotFound: the user has no such item.
        """

    @operation("work_health")
    async def health(
        self, project: str | None = None, *, session: str | None = None, tool_call_id: str | None = None
    ) -> WorkHealthResult:
        """Return what is there twice, rests, contradicts or is not met, and the policies; raises as `show`."""

    @operation("work_repair")
    async def repair(
        self,
        items: Sequence[str],
        *,
        project: str | None = None,
        session: str | None = None,
        undo: bool = False,
        tool_call_id: str | None = None,
    ) -> WorkRepairedResult:
        """Put away items that `health` proposes to archive or join; `undo` opens them again.

        Raises:
            ValidationFailed: an item is not proposed, or was not put away.
        """

    @operation("work_policy")
    async def policy(
        self,
        rule: str,
        *,
        project: str | None = None,
        remove: bool = False,
        tool_call_id: str | None = None,
    ) -> WorkPolicyResult:
        """Add a rule such as `Archive after 30 days` to the policies of a project, or of all work, or take it out.

        Raises:
            ValidationFailed: the text is no rule.
        """

    @operation("work_rebuild")
    async def rebuild(self, *, tool_call_id: str | None = None) -> WorkRebuildResult:
        """Make all that is derived of the user's sessions anew. The same messages give the same."""
