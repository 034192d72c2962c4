"""The health of a project's work, repairs that can be undone, and the policies of a project."""

from typing import Annotated

from pydantic import Field

from memex.errors import FileNotFound, ValidationFailed
from memex.service.operation import LoggedAnswer, LoggedOperation, OperationCall
from memex.service.tools.tool import Arguments, ReadAnswer, ResultPart, StorableText, ToolResult
from memex.service.work.asking import WorkCheckArguments, place_of
from memex.service.work.loading import LoadedWork, load_work, policy_path
from memex.service.work.results import DodPointResult, WorkItemResult, item_result, item_results, point_result
from memex.store.conversations.records import parse_reference
from memex.store.work.marks import add_mark
from memex.subagent.work.completion import check
from memex.subagent.work.health import WorkHealth, health_of
from memex.subagent.work.policies import parse_policy

MAX_REPAIRS = 200

_Name = Annotated[StorableText | None, Field(min_length=1, max_length=1_000)]


class WorkRepairArguments(WorkCheckArguments):
    """Put away `items` that the health of the work proposes to archive or to join; `undo` takes it back."""

    items: Annotated[
        list[Annotated[str, Field(pattern=r"^[0-9a-z]{10}$")]], Field(min_length=1, max_length=MAX_REPAIRS)
    ]
    undo: bool = False


class WorkPolicyArguments(Arguments):
    """Add a rule to the policies of a project, or of all the user's work; `remove` takes it out.

    A `rule` is `Archive after 30 days`, `Never archive: PATTERN`, `Leave out: PATTERN` or `Tag: PATTERN as
    #idea`. A pattern is a text that an item holds, with `*` for any words, or a tag such as `#idea`.
    """

    rule: Annotated[StorableText, Field(min_length=1, max_length=300)]
    project: _Name = None
    remove: bool = False


class ItemPairResult(ResultPart):
    """Two items that belong together: `kept` is the newer or firmer one."""

    kept: WorkItemResult
    other: WorkItemResult


class WorkRepairResult(ResultPart):
    """A proposal for one item: `archive` it because it rests, or `join` it to another one that says the same."""

    id: str
    action: str
    text: str
    joined_to: str | None


class WorkHealthResult(ReadAnswer):
    """Findings about a project's work that a person may want to look at, with the repairs of `work_repair`.

    `policies` are the rules that hold, of the file `policy_file`; `state` names where the work stands.
    """

    project: str | None
    is_healthy: bool
    duplicates: list[ItemPairResult]
    stale: list[WorkItemResult]
    contradictions: list[ItemPairResult]
    gaps: list[DodPointResult]
    is_claimed_done: bool
    repairs: list[WorkRepairResult]
    policies: list[str]
    policy_file: str
    state: str


class WorkRepairedResult(ToolResult):
    """The items that were put away, or are open again; `work_repair` with `undo` takes this back."""

    project: str | None
    repaired: list[str]
    undone: bool


class WorkPolicyResult(ToolResult):
    """The rules that hold now, and the file that holds them; `changed` is false if it was so before."""

    policies: list[str]
    policy_file: str
    changed: bool


async def _show_health(call: OperationCall, arguments: WorkCheckArguments) -> LoggedAnswer[WorkHealthResult]:
    """Return the health of a project's work; raises as `work_show`."""
    project, session = place_of(call.caller, arguments.project, arguments.session)
    work = await load_work(call.service, call.caller, project=project, session=session)
    health = _health(work)
    pairs = {
        name: [
            ItemPairResult(kept=item_result(pair.kept, work.state), other=item_result(pair.other, work.state))
            for pair in found
        ]
        for name, found in (("duplicates", health.duplicates), ("contradictions", health.contradictions))
    }
    result = WorkHealthResult(
        project=work.project,
        is_healthy=not (health.repairs or health.contradictions or health.gaps or health.is_claimed_done),
        stale=item_results(health.stale, work.state),
        gaps=list(map(point_result, health.gaps)),
        is_claimed_done=health.is_claimed_done,
        repairs=[
            WorkRepairResult(
                id=repair.item.item_id,
                action=repair.action,
                text=repair.item.text,
                joined_to=repair.joined_to.item_id if repair.joined_to else None,
            )
            for repair in health.repairs[:MAX_REPAIRS]
        ],
        policies=[policy.text for policy in work.policies],
        policy_file=policy_path(call.access, project),
        state=work.state.token,
        **pairs,
    )
    return LoggedAnswer(result, {"state": result.state, "repairs": len(result.repairs)})


async def _repair(call: OperationCall, arguments: WorkRepairArguments) -> LoggedAnswer[WorkRepairedResult]:
    """Put away what the health of a project's work proposes, or take that back.

    Raises:
        ValidationFailed: an item is not proposed, or there is nothing to take back.
    """
    project, session = place_of(call.caller, arguments.project, arguments.session)
    work = await load_work(call.service, call.caller, project=project, session=session)
    wanted = dict.fromkeys(arguments.items)
    known = (
        work.state.restorable if arguments.undo else {repair.item.item_id for repair in _health(work).repairs}
    )
    if unknown := [item for item in wanted if item not in known]:
        raise ValidationFailed(
            f"The item {unknown[0]} {'was not put away' if arguments.undo else 'needs no repair'}.",
            hint="`work_health` lists the repairs that are proposed; undo names items that were repaired.",
        )
    result = WorkRepairedResult(project=work.project, repaired=list(wanted), undone=arguments.undo)
    async with call.database.transaction(call.access.for_conversations()) as connection:
        for item_id in wanted:
            named = parse_reference(work.state.items[item_id].reference)
            await add_mark(
                connection,
                call.access,
                item_id=item_id,
                action="restore" if arguments.undo else "archive",
                at=call.now,
                tool_call_id=call.log.call.request.tool_call_id,
                conversation_id=named[0] if named else None,
            )
        await call.commit(connection, result, arguments)
    return LoggedAnswer(result, None)


async def _set_policy(call: OperationCall, arguments: WorkPolicyArguments) -> LoggedAnswer[WorkPolicyResult]:
    """Add a rule to the file of policies, or take it out.

    Raises:
        ValidationFailed: the text is no rule.
        ProjectNotFound: the user is not a member of such a project.
    """
    rule = parse_policy(arguments.rule)
    if rule is None:
        raise ValidationFailed(
            "The rule is none that Memex knows.",
            hint="Write `Archive after 30 days`, `Never archive: PATTERN`, `Leave out: PATTERN` or "
            "`Tag: PATTERN as #tag`.",
        )
    project = arguments.project or call.access.project
    if project is not None:
        call.access.scope_at(f"projects/{project}")
    path = policy_path(call.access, project)
    service, caller = call.service, call.caller
    try:
        read = await service.execute(caller, "memory_read", {"path": path})
        content, version = read["content"], read["version"]
    except FileNotFound:
        content, version = "# Policies of work\n", None
    lines = content.rstrip("\n").split("\n")
    same = [line for line in lines if line.startswith("- ") and line[2:].strip() == rule.text]
    changed = bool(same) == arguments.remove
    if changed:
        kept = [line for line in lines if line not in same]
        kept += [] if arguments.remove else [*([""] if version is None else []), f"- {rule.text}"]
        written = {"path": path, "content": "\n".join(kept) + "\n", "base_version": version}
        await service.execute(caller, "memory_write", written)
    work = await load_work(service, caller, project=project)
    result = WorkPolicyResult(
        policies=[policy.text for policy in work.policies], policy_file=path, changed=changed
    )
    return LoggedAnswer(result, result.body())


def _health(work: LoadedWork) -> WorkHealth:
    return health_of(work.state, check(work.state, work.said, work.events))


HEALTH = LoggedOperation("work_health", WorkCheckArguments, WorkHealthResult, _show_health, role="agent")
REPAIR = LoggedOperation(
    "work_repair",
    WorkRepairArguments,
    WorkRepairedResult,
    _repair,
    role="agent",
    opens_conversations=True,
)
POLICY = LoggedOperation("work_policy", WorkPolicyArguments, WorkPolicyResult, _set_policy, role="agent")
