"""The labels of sessions, and which project each belongs to, as a person said."""

from collections import Counter
from datetime import UTC, datetime
from typing import Annotated

from pydantic import Field

from memex.errors import ValidationFailed
from memex.service.call import Caller
from memex.service.operation import LoggedAnswer, LoggedOperation, NoArguments, OperationCall
from memex.service.service import Service
from memex.service.tools.tool import Arguments, ReadAnswer, ResultPart, StorableText, ToolResult
from memex.store.work.records import PlacedSession
from memex.store.work.sessions import (
    MAX_LINKS,
    LabelLink,
    list_links,
    list_sessions,
    put_link,
    remove_link,
)

MAX_SESSIONS = 5_000  # the newest, of which the labels are listed
_PREFIXES = ("remote:", "folder:", "name:", "cwd:", "import:")


class LabelLinkArguments(Arguments):
    """The label of sessions, and its project; without a project the link is taken away.

    `label` is as `GET /v1/work/labels` lists it, or its name if no other label is shown by this name.
    """

    label: Annotated[StorableText, Field(min_length=1, max_length=1_000)]
    project: Annotated[StorableText | None, Field(min_length=1, max_length=200)] = None


class LabelResult(ResultPart):
    """A label: `project` is the slug it belongs to; null for one that is no project of the user.

    `linked_at` is when a person linked it, null if nobody did.
    """

    label: str
    name: str
    project: str | None
    is_linked: bool
    linked_at: str | None
    sessions: int
    last_at: str | None


class LabelsResult(ReadAnswer):
    """The labels of the user's sessions, that of the newest turn first."""

    labels: list[LabelResult]


class LabelLinkResult(ToolResult):
    """The project that a label's sessions belong to now; `changed` is false if they did before."""

    label: str
    project: str | None
    changed: bool


async def _list_labels(call: OperationCall, _: NoArguments) -> LoggedAnswer[LabelsResult]:
    """Return the labels of the user's sessions, and log that it was asked."""
    sessions, links = await _read(call.service, call.caller)
    result = LabelsResult(labels=_labels(call.caller, sessions, links))
    return LoggedAnswer(result, {"labels": len(result.labels)})


async def _link(call: OperationCall, arguments: LabelLinkArguments) -> LoggedAnswer[LabelLinkResult]:
    """Say which project the sessions of a label belong to.

    Raises:
        ValidationFailed: there is no such label, or several are shown by this name.
        ProjectNotFound: the user is not a member of such a project.
    """
    access = call.access
    if arguments.project is not None:
        access.scope_at(f"projects/{arguments.project}")
    sessions, links = await _read(call.service, call.caller)
    label = _named(arguments.label, _labels(call.caller, sessions, links))
    is_new = arguments.project is not None and all(link.label != label for link in links)
    if is_new and len(links) >= MAX_LINKS:
        raise ValidationFailed(f"At most {MAX_LINKS:,} labels can be linked.", hint="Take a link away first.")
    async with call.database.transaction(access.for_conversations()) as connection:
        scope = access.conversations
        if scope is None:
            raise ValueError("the access has no scope of conversations")
        if arguments.project is None:
            changed = await remove_link(connection, scope.scope_id, label)
        else:
            changed = await put_link(connection, access, label, arguments.project, datetime.now(UTC))
    result = LabelLinkResult(label=label, project=arguments.project, changed=changed)
    return LoggedAnswer(result, result.body())


def own_slug(caller: Caller, slug: str | None) -> str | None:
    """Return the slug of a project if the caller is a member of it."""
    return slug if f"projects/{slug}" in caller.access.by_mount else None


async def slug_of_label(service: Service, caller: Caller, label: str) -> str | None:
    """Return the project that a label belongs to; None if it is none, or the caller is no member of it."""
    scope = caller.access.conversations
    if scope is None:
        return None
    async with service.database.transaction(caller.access.for_conversations()) as connection:
        links = {link.label: link.slug for link in await list_links(connection, scope.scope_id)}
    return own_slug(
        caller, links.get(label) or (label.removeprefix("name:") if label.startswith("name:") else "")
    )


async def _read(service: Service, caller: Caller) -> tuple[list[PlacedSession], list[LabelLink]]:
    scope = caller.access.conversations
    if scope is None:
        return [], []
    async with service.database.transaction(caller.access.for_conversations()) as connection:
        return (
            await list_sessions(connection, scope.scope_id, limit=MAX_SESSIONS),
            await list_links(connection, scope.scope_id),
        )


def _labels(caller: Caller, placed: list[PlacedSession], links: list[LabelLink]) -> list[LabelResult]:
    """Return each label once; links of labels that no session has come last."""
    linked_at = {linked.label: linked.linked_at.isoformat() for linked in links}
    counts = Counter(place.label for place in placed)
    found: dict[str, LabelResult] = {}
    for place in placed:
        shown = LabelResult.taken_from(
            place,
            project=own_slug(caller, place.slug),
            linked_at=linked_at.get(place.label),
            sessions=counts[place.label],
        )
        found.setdefault(place.label, shown)
    for link in links:
        name = link.label.rpartition("/")[2].rpartition(":")[2]
        found.setdefault(
            link.label,
            LabelResult(
                label=link.label,
                name=name,
                project=own_slug(caller, link.slug),
                is_linked=True,
                linked_at=linked_at[link.label],
                sessions=0,
                last_at=None,
            ),
        )
    return list(found.values())


def _named(label: str, known: list[LabelResult]) -> str:
    """Return the label that is meant: one that is written in full, or the only one that is shown by this name."""
    if any(other.label == label for other in known) or label.startswith(_PREFIXES):
        return label
    named = [other.label for other in known if other.name == label]
    if len(named) == 1:
        return named[0]
    if named:
        raise ValidationFailed(
            f"{len(named)} labels are shown as {label[:50]!r}.",
            hint=f"Name one of them in full: {', '.join(named[:10])}.",
            labels=named[:10],
        )
    raise ValidationFailed(f"No session has the label {label[:50]!r}.", hint="See `memex work labels`.")


LINK = LoggedOperation(
    "work_link", LabelLinkArguments, LabelLinkResult, _link, role="agent", opens_conversations=True
)
LABELS = LoggedOperation("work_labels", NoArguments, LabelsResult, _list_labels, role="agent")
