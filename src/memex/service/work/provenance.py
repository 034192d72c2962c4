"""The provenance of an item of work: each text that says it, and each decision about it."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Annotated

from pydantic import Field

from memex.errors import WorkItemNotFound
from memex.service.operation import LoggedAnswer, LoggedOperation, OperationCall
from memex.service.tools.tool import Arguments, ReadAnswer, ResultPart, StorableText
from memex.service.work.loading import LoadedWork, load_work
from memex.service.work.results import WorkItemResult, item_result
from memex.subagent.work.definition import points_of
from memex.subagent.work.ledger import WorkMention
from memex.subagent.work.records import MemoryItem, Observation, ReadingMethod, WorkItem


class WorkProvenanceArguments(Arguments):
    """The item of work, by its `id`, of a `project` or `session`, or of any session of the user."""

    id: Annotated[str, Field(pattern=r"^[0-9a-z]{10}$")]
    project: Annotated[StorableText | None, Field(min_length=1, max_length=1_000)] = None
    session: Annotated[StorableText | None, Field(min_length=1, max_length=100)] = None


class WorkMentionResult(ResultPart):
    """A text that says an item: `reference` names its message or file, `start` and `end` the message's span.

    `method` says how it was found: in a file of memory, by a label, or by the rules.
    """

    kind: str
    text: str
    reference: str
    who: str
    at: str
    is_firm: bool
    confidence: float
    method: ReadingMethod
    start: int | None
    end: int | None


class WorkDecisionResult(ResultPart):
    """A decision by hand about an item, and the call that made it."""

    action: str
    at: str
    ends_on: str | None
    tool_call_id: str


class WorkProvenanceResult(ReadAnswer):
    """The provenance of an item of work: the texts that say it, and the decisions, in the order of time."""

    project: str | None
    item: WorkItemResult
    mentions: list[WorkMentionResult]
    decided: list[WorkDecisionResult]


async def _show_provenance(
    call: OperationCall, arguments: WorkProvenanceArguments
) -> LoggedAnswer[WorkProvenanceResult]:
    """Return where an item of work comes from, and log that it was asked.

    Raises:
        WorkItemNotFound: the user has no such item.
    """
    work, item = await find_item(call, arguments.id, arguments.project, arguments.session)
    result = _result(work, item)
    logged = {"id": item.item_id, "mentions": [mention.reference for mention in result.mentions]}
    return LoggedAnswer(result, logged)


async def find_item(
    call: OperationCall, item_id: str, project: str | None, session: str | None
) -> tuple[LoadedWork, WorkItem]:
    """Return an item of the named project or session; where none is named, one of any session.

    Raises:
        WorkItemNotFound: the user has no such item.
    """
    places = [(project, session)]
    if places == [(None, None)] and call.access.project is not None:
        places.append((call.access.project, None))
    for named, of_session in places:
        work = await load_work(call.service, call.caller, project=named, session=of_session)
        if (item := work.state.items.get(item_id)) is not None:
            return work, item
    raise WorkItemNotFound(f"There is no item {item_id!r} of work.")


def _result(work: LoadedWork, item: WorkItem) -> WorkProvenanceResult:
    names = {name for name, known in work.state.items.items() if known.item_id == item.item_id}
    told: list[Observation | MemoryItem] = [*work.memory, *work.said]
    mentions: list[tuple[datetime, WorkMentionResult]] = [
        (text.at, _mention(text))
        for text in told
        if names.intersection(_item_ids(text)) or item.resolved_by == WorkMention.of(text).reference
    ]
    return WorkProvenanceResult(
        project=work.project,
        item=item_result(item, work.state),
        mentions=[mention for _, mention in sorted(mentions, key=lambda each: each[0])],
        decided=[WorkDecisionResult.taken_from(mark) for mark in work.marks if mark.item_id in names],
    )


def _item_ids(named: Observation | MemoryItem) -> Iterator[str]:
    """Yield the ids that a text can give to an item; a definition of done gives one to each of its points."""
    mention = WorkMention.of(named)
    yield mention.item().item_id
    if named.kind == "definition_of_done":
        yield from (replace(mention, text=text).item().item_id for text in points_of(named.text))


def _mention(named: Observation | MemoryItem) -> WorkMentionResult:
    mention = WorkMention.of(named)
    span = (named.start, named.end) if isinstance(named, Observation) else (None, None)
    return WorkMentionResult.taken_from(mention, kind=named.kind, start=span[0], end=span[1])


PROVENANCE = LoggedOperation(
    "work_provenance", WorkProvenanceArguments, WorkProvenanceResult, _show_provenance, role="agent"
)
