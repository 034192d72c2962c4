"""The operations on dreams, by the names of `memex.routes`."""

from datetime import datetime, timedelta
from typing import Annotated, Literal

from pydantic import Field

from memex.errors import ProposalNotFound, ValidationFailed
from memex.service.call import Caller
from memex.service.dreams import deciding
from memex.service.dreams.dreaming import Dream, dream, waiting
from memex.service.dreams.model_planner import planner_of
from memex.service.dreams.reading import read_state, signals_of
from memex.service.dreams.results import (
    ChoicesResult,
    DecidedGroups,
    DreamResult,
    HealthReport,
    Mode,
    ProposalListResult,
    ProposalResult,
    choice_result,
    proposal_result,
    signal_results,
)
from memex.service.operation import LoggedAnswer, LoggedOperation, NoArguments, OperationCall
from memex.service.service import Service
from memex.service.tools.tool import Arguments, ToolResult
from memex.store.dreams import proposals
from memex.store.dreams.proposals import StoredProposal
from memex.store.log.call import CallAnswer
from memex.store.memory import Memory
from memex.store.paths import VirtualPath, parse
from memex.subagent.dream.edits import AUTO_KINDS, EditKind
from memex.subagent.dream.signals import count_signals

MAX_REPORTED = 20  # signals of one kind that a report names

Mount = Annotated[str | None, Field(max_length=220)]
Decision = Literal["apply", "reject", "revert"]


class MountArguments(Arguments):
    """A mount: by default the project of the call, or the user's own files."""

    mount: Mount = None


class RunArguments(MountArguments):
    """A dream over a mount; with `dry_run` it is only shown."""

    dry_run: bool = False


class ShowArguments(Arguments):
    """A proposal by its id."""

    proposal_id: Annotated[str, Field(max_length=100)]


class DecideArguments(ShowArguments):
    """A decision about groups of a proposal; by default about all that it can be about."""

    decision: Decision
    groups: Annotated[list[int], Field(max_length=40)] | None = None


class ChooseArguments(MountArguments):
    """Who decides in a mount, and for how long no dream begins there by itself; 0 days end a pause."""

    mode: Mode | None = None
    auto_kinds: list[EditKind] | None = None
    pause_days: Annotated[int, Field(ge=0, le=3650)] | None = None


class ProposalShown(ToolResult):
    """One proposal, with what it would change in the files as they stand."""

    proposal: ProposalResult


def mount_of(caller: Caller, mount: str | None) -> str:
    """Return the mount that a call is about."""
    project = caller.access.project
    return mount.rstrip("/") if mount else "user" if project is None else f"projects/{project}"


async def _report(call: OperationCall, arguments: MountArguments) -> LoggedAnswer[HealthReport]:
    """Return the health of a memory: what may be tidied, by kind, with the first places of each."""
    mount = mount_of(call.caller, arguments.mount)
    scope = call.access.scope_at(mount)
    state = await read_state(call.service, call.access, mount, call.now)
    signals = await signals_of(state, scope.language)
    async with call.database.transaction(call.access) as connection:
        choices = await proposals.choices(connection, [scope])
    counts = count_signals(signals)
    shown = [
        signal
        for kind in counts
        for signal in [found for found in signals if found.kind == kind][:MAX_REPORTED]
    ]
    result = HealthReport(
        mount=mount,
        pages=len(state.pages),
        statements=len(state.lines),
        counts=counts,
        signals=signal_results(shown),
        choice=choice_result(mount, choices[mount]),
    )
    return LoggedAnswer(result, {"mount": mount, "counts": counts}, {mount: state.rev})


async def _run(call: OperationCall, arguments: RunArguments) -> LoggedAnswer[DreamResult]:
    """Dream over a mount, and propose what may be tidied; of one that waits for a decision nothing new is made."""
    mount, caller = mount_of(call.caller, arguments.mount), call.caller
    call.access.scope_at(mount)
    if not arguments.dry_run:
        call.access.writable_scope_of(_page_of(mount))
        earlier = await waiting(call.service, caller, mount, call.now)
        if earlier is not None:
            shown = await _shown(call.service, caller, earlier)
            result = DreamResult(status="waiting", proposal=shown, counts=earlier.counts)
            return LoggedAnswer(result, {"status": "waiting", "proposal_id": earlier.proposal_id})
    more = None if arguments.dry_run else planner_of(call.service, caller)
    made = await dream(call.service, caller, mount, call.now, keeps=not arguments.dry_run, plans_more=more)
    if made.refused is not None:
        result = DreamResult(status="refused", counts=made.counts, detail=made.refused)
        return LoggedAnswer(result, None if arguments.dry_run else {"status": "refused"})
    if made.proposal is None:
        status: Literal["dry_run", "nothing"] = "dry_run" if arguments.dry_run else "nothing"
        result = DreamResult(
            status=status, counts=made.counts, left_out=made.left_out, detail=_why_nothing(made)
        )
        return LoggedAnswer(result, None if arguments.dry_run else {"status": status})
    proposal = await _shown(call.service, caller, made.proposal)
    result = DreamResult(
        status="dry_run" if arguments.dry_run else "proposed",
        proposal=proposal,
        counts=made.counts,
        left_out=made.left_out,
    )
    logged = {"status": "proposed", "proposal_id": proposal.proposal_id, "counts": made.counts}
    return LoggedAnswer(result, None if arguments.dry_run else logged, {mount: made.state.rev})


def _why_nothing(made: Dream) -> str | None:
    """Return why a dream that found something proposes nothing."""
    if made.left_out:
        return "Nothing is proposed: what can be changed is more than one proposal may hold."
    if made.counts:
        return (
            "Nothing is proposed: what was found is only listed, or was rejected before. `report` shows it."
        )
    return None


async def _list(call: OperationCall, _: NoArguments) -> LoggedAnswer[ProposalListResult]:
    """Return the proposals of the caller's mounts, the newest first."""
    async with call.database.transaction(call.access) as connection:
        found = await proposals.read(connection, call.access, now=call.now)
    mounts = call.access.by_id
    listed = [proposal_result(choice, mounts[choice.scope_id].mount, {}) for choice in found]
    return LoggedAnswer(
        ProposalListResult(proposals=listed), {"proposals": [proposal.proposal_id for proposal in listed]}
    )


async def _show(call: OperationCall, arguments: ShowArguments) -> LoggedAnswer[ProposalShown]:
    """Return a proposal with what it would change in the files as they stand."""
    stored = await find_proposal(call.service, call.caller, arguments.proposal_id, call.now)
    shown = await _shown(call.service, call.caller, stored)
    return LoggedAnswer(ProposalShown(proposal=shown), {"proposal_id": stored.proposal_id})


async def _decide(call: OperationCall, arguments: DecideArguments) -> LoggedAnswer[DecidedGroups]:
    """Apply, reject or revert groups of a proposal; each group is a commit of its own."""
    service, caller = call.service, call.caller
    if (first := await call.log.first_result()) is not None:
        return LoggedAnswer(DecidedGroups.model_validate(first), None)
    stored = await find_proposal(service, caller, arguments.proposal_id, call.now)
    call.access.writable_scope_of(_page_of(call.access.by_id[stored.scope_id].mount))
    states = {"apply": ("open",), "reject": ("open", "held"), "revert": ("applied",)}[arguments.decision]
    parts = deciding.chosen_parts(stored, arguments.groups, states)
    if arguments.decision == "apply":
        groups = await deciding.apply(service, caller, stored, parts, call.now)
    elif arguments.decision == "reject":
        groups = await deciding.reject(service, caller, stored, parts, call.now)
    else:
        groups = await deciding.revert(service, caller, stored, parts)
    result = DecidedGroups(proposal_id=stored.proposal_id, groups=groups)
    await call.log.add("committed", CallAnswer(result.body(), arguments.canonical(), result.body()))
    return LoggedAnswer(result, None)


async def _choose(call: OperationCall, arguments: ChooseArguments) -> LoggedAnswer[ChoicesResult]:
    """Choose who decides in a mount, or show what was chosen."""
    caller = call.caller
    access = caller.access
    if (arguments.mode, arguments.auto_kinds, arguments.pause_days) != (None, None, None):
        caller = await call.service.identities.admit(caller)
        access = caller.access
        mount = mount_of(caller, arguments.mount)
        scope = access.writable_scope_of(_page_of(mount))
        if not_auto := sorted(set(arguments.auto_kinds or ()) - set(AUTO_KINDS)):
            raise ValidationFailed(
                f"Edits of the kind {not_auto[0]!r} are never applied by themselves.",
                hint=f"Possible are: {', '.join(AUTO_KINDS)}.",
            )
        days = arguments.pause_days
        async with call.database.transaction(access) as connection:
            earlier = (await proposals.choices(connection, [scope]))[mount]
            await proposals.choose(
                connection,
                access,
                scope,
                mode=arguments.mode,
                auto_kinds=arguments.auto_kinds,
                paused_until=earlier.paused_until if days is None else call.now + timedelta(days=days),
            )
    async with call.database.transaction(access) as connection:
        found = await proposals.choices(connection, access.scopes)
    wanted = found if arguments.mount is None else {mount_of(caller, arguments.mount): None}
    result = ChoicesResult(
        mounts=[choice_result(mount, choice) for mount, choice in found.items() if mount in wanted]
    )
    return LoggedAnswer(result, result.body())


def _page_of(mount: str) -> VirtualPath:
    """Return the path of some page of a mount, by which the right to write there is checked."""
    return parse(f"{mount}/page.md")


async def find_proposal(service: Service, caller: Caller, proposal_id: str, now: datetime) -> StoredProposal:
    """Return a proposal of one of the caller's mounts; raises ProposalNotFound."""
    async with service.database.transaction(caller.access) as connection:
        found = await proposals.read(connection, caller.access, proposal_id=proposal_id, now=now)
    if not found:
        raise ProposalNotFound(f"There is no proposal {proposal_id!r}.", proposal_id=proposal_id)
    return found[0]


async def _shown(service: Service, caller: Caller, stored: StoredProposal) -> ProposalResult:
    """Return a proposal with diffs against the files as they stand."""
    paths = sorted({edit["path"] for edit in stored.edits})
    async with service.database.transaction(caller.access, snapshot=True) as connection:
        files = await Memory(connection, caller.access).read_files(paths)
    texts = {file.virtual_path: file.content for file in files}
    return proposal_result(stored, caller.access.by_id[stored.scope_id].mount, texts)


REPORT = LoggedOperation("dream_report", MountArguments, HealthReport, _report)
RUN = LoggedOperation("dream_run", RunArguments, DreamResult, _run)
LIST = LoggedOperation("dream_list", NoArguments, ProposalListResult, _list)
SHOW = LoggedOperation("dream_show", ShowArguments, ProposalShown, _show)
DECIDE = LoggedOperation("dream_decide", DecideArguments, DecidedGroups, _decide)
CHOOSE = LoggedOperation("dream_choose", ChooseArguments, ChoicesResult, _choose)
OPERATIONS = {operation.name: operation.call for operation in (REPORT, RUN, LIST, SHOW, DECIDE, CHOOSE)}
