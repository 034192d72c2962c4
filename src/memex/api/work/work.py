"""Where work stands, from Python: `memory.work.show("apollo")`, and how a Memex is asked for it."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Protocol

from memex.api.work.places import WorkPlaces, WorkPlacesApi
from memex.call_context import CallContext
from memex.service.work.provenance import WorkProvenanceResult
from memex.service.work.results import (
    WorkChangesResult,
    WorkCheckResult,
    WorkMarkResult,
    WorkRebuildResult,
    WorkResult,
)
from memex.subagent.work.records import MarkAction

Document = dict[str, Any]


class WorkApi(WorkPlacesApi, Protocol):
    """What can be asked about work. Each method acts for a context and answers with JSON."""

    async def show(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        """Return where the work of a project or a session stands."""
        ...

    async def check(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        """Return whether it is done."""
        ...

    async def changes(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        """Return what changed since a moment or a state."""
        ...

    async def mark(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        """Note what a person decided about an item."""
        ...

    async def provenance(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        """Return where an item comes from."""
        ...

    async def rebuild(self, context: CallContext, *, ask: bool = False) -> Document:
        """Read all sessions anew; with `ask`, a model first reads some messages that it has not read."""
        ...


class Work(WorkPlaces):
    """Where the work of one user stands, as sessions with agents and the project's memory say."""

    def __init__(self, api: WorkApi, context: CallContext) -> None:
        super().__init__(api, context)
        self._api = api

    async def show(
        self,
        project: str | None = None,
        *,
        session: str | None = None,
        as_of: datetime | None = None,
        tool_call_id: str | None = None,
    ) -> WorkResult:
        """Return what is wanted, open, in the way and done, each with its source.

        Args:
            project: a slug, or the label that sessions have.
            session: the id of one session, instead of a project.
            as_of: where the work stood at this moment.
            tool_call_id: the id under which the call is logged.

        Raises:
            ProjectNotFound: no project and no session of the user has this name.
            ConversationNotFound: the user has no such session.
        """
        asked = {"project": project, "session": session, "as_of": as_of.isoformat() if as_of else None}
        return WorkResult.model_validate(await self._api.show(self._under(tool_call_id), asked))

    async def check(
        self, project: str | None = None, *, session: str | None = None, tool_call_id: str | None = None
    ) -> WorkCheckResult:
        """Return whether the work is done and what proves it, or the reasons why not; raises as `show`."""
        asked = {"project": project, "session": session}
        return WorkCheckResult.model_validate(await self._api.check(self._under(tool_call_id), asked))

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
        asked = {
            "project": project,
            "session": session,
            "since": since.isoformat() if since else None,
            "state": state,
        }
        return WorkChangesResult.model_validate(await self._api.changes(self._under(tool_call_id), asked))

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
        asked = {
            "id": item,
            "action": action,
            "ends_on": ends_on.isoformat() if ends_on else None,
            "project": project,
            "session": session,
        }
        return WorkMarkResult.model_validate(await self._api.mark(self._under(tool_call_id), asked))

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
        asked = {"id": item, "project": project, "session": session}
        found = await self._api.provenance(self._under(tool_call_id), asked)
        return WorkProvenanceResult.model_validate(found)

    async def rebuild(self, *, ask: bool = False, tool_call_id: str | None = None) -> WorkRebuildResult:
        """Make all that is derived of the user's sessions anew. The same messages give the same.

        With `ask`, the model that reads sessions is first asked about messages that it has not read, for as long as
        one call of a model may take: `asked` and `left` of the answer count them.

        Raises:
            ValidationFailed: the model shall be asked, and none reads sessions.
        """
        return WorkRebuildResult.model_validate(await self._api.rebuild(self._under(tool_call_id), ask=ask))
