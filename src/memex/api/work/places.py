"""The places of work, from Python: `memory.work.pack("apollo")`."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from memex.api.user_calls import UserCalls, operation
from memex.service.work.labels import LabelLinkResult, LabelsResult
from memex.service.work.packing import PackResult
from memex.service.work.reading import ReadFromResult, ReadingsResult
from memex.service.work.sessions import ResolveResult, WorkSessionsResult
from memex.subagent.work.resuming.pack import PackBudget


def linked_projects(listed: Mapping[str, Any]) -> dict[str, str]:
    """Return the project of each label that the user linked, of an answer that lists the labels."""
    return {
        label["label"]: label["project"]
        for label in listed["labels"]
        if label["is_linked"] and label["project"]
    }


class WorkPlaces(UserCalls):
    """The part of `Work` that tells of the places of sessions."""

    @operation("work_context")
    async def pack(
        self,
        project: str | None = None,
        *,
        label: str | None = None,
        session: str | None = None,
        budget: PackBudget = "auto",
        known_hash: str | None = None,
        cwd: str | None = None,
        repository: str | None = None,
        branch: str | None = None,
        title: str | None = None,
        files: Sequence[str] | None = None,
        words: str | None = None,
        hint: str | None = None,
        as_of: datetime | None = None,
        tool_call_id: str | None = None,
    ) -> PackResult:
        """Return where work stands in a few lines for the model of a new session, each with its source.

        Args:
            project: a slug or a label; without it hints are enough, if they mean one lane.
            label: what identifies the place of sessions, such as `remote:github.com/acme/apollo`; beside `cwd` or
                `repository` it is that of the folder, and the pack is of the project that it belongs to.
            session: the id of one session.
            budget: `micro` (1,000 bytes), `normal` (2,200), `full` (3,600), or `auto`.
            known_hash: of the pack that is known; if it is the same, the text is left out.
            cwd: a hint, as those below: the working directory.
            repository: its remote or its root.
            branch: that is checked out.
            title: of a session.
            files: paths that the work changes.
            words: of the task.
            hint: one of these in one text: a folder, a repository, a title, a question.
            as_of: the pack as it was at this moment.
            tool_call_id: the id under which the call is logged.

        Raises:
            ProjectNotFound: no project and no session of the user has this name.
            ConversationNotFound: the user has no such session.
        """

    @operation("work_sessions")
    async def sessions(
        self, project: str | None = None, *, limit: int = 50, tool_call_id: str | None = None
    ) -> WorkSessionsResult:
        """Return sessions with label, folder, branch and last turn, the newest first."""

    @operation("work_resolve")
    async def resolve(
        self,
        *,
        title: str | None = None,
        cwd: str | None = None,
        repository: str | None = None,
        branch: str | None = None,
        project: str | None = None,
        files: Sequence[str] | None = None,
        words: str | None = None,
        hint: str | None = None,
        tool_call_id: str | None = None,
    ) -> ResolveResult:
        """Return the one lane that hints mean, or all that they may mean; none of several is chosen."""

    @operation("work_labels")
    async def labels(self, *, tool_call_id: str | None = None) -> LabelsResult:
        """Return the labels of sessions, and the project that each belongs to."""

    @operation("work_link")
    async def link(
        self, label: str, project: str | None = None, *, tool_call_id: str | None = None
    ) -> LabelLinkResult:
        """Say which project the sessions of a label belong to; without a project the link is taken away.

        Raises:
            ValidationFailed: there is no such label, or several are shown by this name.
            ProjectNotFound: the user is not a member of such a project.
        """

    @operation("work_readings")
    async def readings(self, project: str, *, tool_call_id: str | None = None) -> ReadingsResult:
        """Return the projects that one reads from, of those that the user is a member of.

        Raises:
            ProjectNotFound: the user is not a member of such a project.
        """

    async def read_from(
        self, project: str, other: str, *, remove: bool = False, tool_call_id: str | None = None
    ) -> ReadFromResult:
        """Tell decisions and constraints of another project beside the work of one; with `remove`, no more.

        It holds for everybody who is a member of both.

        Raises:
            ProjectNotFound: the user is not a member of both projects.
            ValidationFailed: both are the same, or the project reads from 20 others.
        """
        name = "work_stop_reading" if remove else "work_read_from"
        return await self._run(ReadFromResult, name, tool_call_id, project=project, other=other)
