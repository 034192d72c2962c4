"""Decide by hand about an item of work: it is done, it is dropped, or memory shall keep it."""

from datetime import UTC, date, datetime
from typing import Annotated

from pydantic import Field

from memex.errors import ValidationFailed
from memex.service.call import Caller
from memex.service.operation import LoggedAnswer, LoggedOperation, NoArguments, OperationCall
from memex.service.service import Service
from memex.service.tools.tool import Arguments, StorableText, example
from memex.service.work.loading import LoadedWork, load_work
from memex.service.work.provenance import find_item
from memex.service.work.results import WorkMarkResult, WorkRebuildResult
from memex.store.citations.records import Citation, write_statement
from memex.store.conversations.read import read_thread
from memex.store.conversations.records import parse_reference
from memex.store.paths import parse
from memex.store.sql import sql
from memex.store.work.marks import add_mark
from memex.store.work.observations import clear_derived
from memex.subagent.distil.cited import statement_digest
from memex.subagent.work.records import MarkAction, WorkItem

_LABELS = {
    "pending": "TODO",
    "blocker": "Blocked",
    "done": "Done",
    "decision": "Decision",
    "constraint": "Constraint",
    "objective": "Goal",
    "definition_of_done": "Definition of done",
}


class WorkMarkArguments(Arguments):
    """A decision about the item `id`.

    It is `done`, or dropped (`drop`), or put away (`archive`); `restore` takes each of these back. `keep` remembers
    it in memory. `pin` puts it first in packs, `leave_out` takes it out of them; `unpin` and `bring_in` take that
    back. `end` ends it after the day `ends_on`; without a day it does not end.
    """

    model_config = example(id="7k2m9x4q1c", action="done")

    id: Annotated[str, Field(pattern=r"^[0-9a-z]{10}$")]
    action: MarkAction
    ends_on: Annotated[date | None, Field(strict=False)] = None
    project: Annotated[StorableText | None, Field(min_length=1, max_length=1_000)] = None
    session: Annotated[StorableText | None, Field(min_length=1, max_length=100)] = None


async def _mark(call: OperationCall, arguments: WorkMarkArguments) -> LoggedAnswer[WorkMarkResult]:
    """Note what a person decided about an item of work.

    Without a project or a session, the item is looked for in all of the user's sessions.

    Raises:
        ValidationFailed: an argument is wrong, the item is over, or there is nothing to restore.
        WorkItemNotFound: the user has no such item.
    """
    service, caller = call.service, call.caller
    work, item = await find_item(call, arguments.id, arguments.project, arguments.session)
    _check(arguments, work, item)
    path = await _keep(service, caller, work, item) if arguments.action == "keep" else None
    named = parse_reference(item.reference)
    result = WorkMarkResult(
        id=arguments.id,
        action=arguments.action,
        text=item.text,
        path=path,
        ends_on=arguments.ends_on.isoformat() if arguments.ends_on else None,
    )
    async with call.database.transaction(call.access.for_conversations()) as connection:
        await add_mark(
            connection,
            call.access,
            item_id=arguments.id,
            action=arguments.action,
            at=call.now,
            tool_call_id=call.log.call.request.tool_call_id,
            conversation_id=named[0] if named else None,
            ends_on=arguments.ends_on,
        )
        await call.commit(connection, result, arguments)
    return LoggedAnswer(result, None)


async def _rebuild(call: OperationCall, _: NoArguments) -> LoggedAnswer[WorkRebuildResult]:
    """Make all observations of the user anew from the messages. The same messages give the same."""
    scope = call.access.conversations
    if scope is not None:
        async with call.database.transaction(call.access.for_conversations()) as connection:
            await clear_derived(connection, scope.scope_id)
    work = await load_work(call.service, call.caller)
    result = WorkRebuildResult(sessions=len(work.sessions), observations=len(work.said))
    return LoggedAnswer(result, result.body())


def _check(arguments: WorkMarkArguments, work: LoadedWork, item: WorkItem) -> None:
    """Refuse a decision that would change nothing."""
    action = arguments.action
    if arguments.ends_on is not None and action != "end":
        raise ValidationFailed("Only `end` takes a day.", hint="Leave ends_on out.")
    if action == "restore":
        if arguments.id not in work.state.restorable:
            raise ValidationFailed(
                "Nothing was decided by hand that could be taken back.",
                hint="What was done, dropped, archived or ended by hand can be restored; see `memex work`.",
            )
    elif action != "keep" and item.status != "open":
        raise ValidationFailed(
            f"The item is {item.status} already.",
            hint="See `memex work`; `restore` takes back what was decided.",
        )
    if action == "done" and item.kind in {"decision", "constraint"}:
        raise ValidationFailed(
            f"A {item.kind} is not done.", hint="Drop it if it does not hold any more: drop."
        )


async def _keep(service: Service, caller: Caller, work: LoadedWork, item: WorkItem) -> str | None:
    """Remember an item with its label and with the message that it comes from; return the file that holds it."""
    label = _LABELS.get(item.kind)
    if item.origin == "memory" or label is None:
        return item.reference if item.origin == "memory" else None
    # Without a full stop, behind which the citation would be a statement of its own.
    said = {"text": f"{label}: {item.text.rstrip(' .!')} [[{item.reference}]]"}
    slugs = [session.slug for session in work.sessions if session.conversation_id in item.sessions]
    projects = [
        name for name in (work.project, *slugs) if name and f"projects/{name}" in caller.access.by_mount
    ]
    if projects:
        said["project"] = projects[0]
    answer = await service.execute(caller, "memory_remember", said)
    written = next(((write["path"], write["version"]) for write in answer["writes"]), None)
    if written is None:
        return None
    await _cite(service, caller, item, written, answer["tool_call_id"])
    return f"{written[0]}@{written[1]}"


async def _cite(
    service: Service, caller: Caller, item: WorkItem, written: tuple[str, int], tool_call_id: str
) -> None:
    """Note that a statement of a file was taken from a message: a link in its text alone proves nothing."""
    place, access = parse_reference(item.reference), caller.access
    if place is None or place[1] is None:
        return
    conversation_id, number = place[0], place[1]
    path = parse(written[0])
    scope = access.scope_of(path)
    reading = access.limited_to(
        tuple(readable for readable in (scope, access.conversations) if readable is not None)
    )
    async with service.database.transaction(reading) as connection:
        thread = await read_thread(connection, access.conversations, conversation_id, limit=1, around=number)
        message = next(said for said in thread.messages if said.number == number)
        start = max(message.text.find(item.text), 0)
        cited = Citation(
            scope_id=scope.scope_id,
            user_id=access.user_id or "",
            place=(conversation_id, number),
            statement_sha256=statement_digest(item.text),
            message_sha256=bytes.fromhex(message.sha256),
            span=(start, min(start + len(item.text), len(message.text))),
            said_at=message.said_at,
            revision=f"{path.relative}@{written[1]}",
            tool_call_id=tool_call_id,
        )
        statement, parameters = write_statement(access, [cited], datetime.now(UTC))
        await connection.execute(sql(statement), parameters)


MARK = LoggedOperation(
    "work_mark", WorkMarkArguments, WorkMarkResult, _mark, role="agent", opens_conversations=True
)
REBUILD = LoggedOperation("work_rebuild", NoArguments, WorkRebuildResult, _rebuild, role="agent")
