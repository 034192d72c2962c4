"""The log: a caller's own calls, and their undoing."""

import asyncio
from typing import Annotated, Any

from fastapi import Query, Response
from pydantic import AwareDatetime, BaseModel, ConfigDict

from memex.http.answers import ZIP, zip_answer
from memex.http.callers import HeaderCaller, ServiceDependency
from memex.http.calls import Call
from memex.http.parsing import RequestBody
from memex.http.routers import RouterPair
from memex.service.evals import case_requests
from memex.service.evals.call_cases import CaseChoice
from memex.service.evals.case_requests import CaseDraftResult
from memex.service.journal.marking import without_forgotten
from memex.service.log.call_list import MAX_FILTER_CHARS
from memex.service.log.operations import OperationResult, OperationsResult
from memex.service.log.replay.bundle import export_call as export_call_of
from memex.service.log.replay.bundle_archive import pack_bundle
from memex.service.log.replay.counterfactual import ChangedResult, ReplayChange
from memex.service.log.replay.replay import ReplayResult
from memex.service.log.replay.requests import ReplayableKind, replay_call, replay_changed
from memex.service.log.revert_all import RevertAllArguments, RevertAllResult
from memex.service.tools.revisions import RevertResult
from memex.service.tools.tool import example
from memex.store.records import Status

PAIR = RouterPair("/operations", "operations", as_admin=" as an admin")
REPLAYABLE_PAIR = RouterPair("/replayable", "operations", as_admin=" as an admin")

Limit = Annotated[int, Query(ge=1, le=500)]
FilterText = Annotated[str | None, Query(min_length=1, max_length=MAX_FILTER_CHARS)]
TEXT_DESCRIPTION = "Only calls whose id, arguments, error code or written files contain this text."
ManyCalls = Annotated[int, Query(ge=1, le=100_000)]
Tools = Annotated[ReplayableKind, Query(description="Calls of which tools.")]
Since = Annotated[AwareDatetime | None, Query(description="Made at this time (RFC 3339) or later.")]
OnlyDegraded = Annotated[bool, Query(description="Only those where a model should have planned and did not.")]

BUNDLE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A zip of the call",
        "content": {ZIP: {"schema": {"type": "string", "format": "binary"}}},
    }
}


class Attempts(BaseModel):
    """Every attempt at one call, the newest first."""

    attempts: list[OperationResult]


class RevertBody(RequestBody):
    """The reason for undoing a call."""

    model_config = example(reason="it was a misunderstanding")

    reason: str | None = None


class ReplayBody(ReplayChange):
    """Changes for running a call again; without any, the call is compared as it was.

    Attributes:
        planner: `builtin`: the rules plan in a model's place.
        budget: characters that a context may have.
        search_mode: `bm25`: by words alone; `hybrid`: by meaning too.
        model: this model of the service plans; it is really asked, and paid.
        prompt: the text of the prompt that the model is asked with, in the place of its own.
        as_of: memory at another time or in another state; `now`: as it is now.
    """

    model_config = ConfigDict(
        strict=True,
        json_schema_extra={"examples": [{"planner": "builtin"}, {"budget": 2000}, {"as_of": "now"}]},
    )


class Replayable(BaseModel):
    """The ids of calls that can be replayed, the newest first."""

    calls: list[str]


@REPLAYABLE_PAIR.operation(
    "memory_replayable",
    summary="List the calls that can be replayed",
    admin_summary="List the calls that can be replayed, as an admin",
    admin_description="Return the ids of calls of the user in Memex-User; without a user, of calls of admins.",
)
def list_replayable(
    tool: Tools = "all", since: Since = None, degraded: OnlyDegraded = False, limit: ManyCalls = 1_000
) -> Replayable:
    """Return the ids of the user's calls that gave an answer, the newest first."""


@PAIR.operation(
    "memory_operations",
    summary="List the user's calls",
    admin_summary="List calls as an admin",
    admin_description=(
        "Return the calls of the user in Memex-User; without a user, the calls of admins alone, or with `everyone` "
        "those of all users of the tenant. Filters look at no more than 10,000 calls for one page, and "
        "`stopped_after` says when that was too few."
    ),
)
def list_operations(
    tool: FilterText = None,
    status: Annotated[Status | None, Query(description="Only calls that ended so.")] = None,
    actor: FilterText = None,
    since: Since = None,
    until: Annotated[AwareDatetime | None, Query(description="Made before this time (RFC 3339).")] = None,
    text: Annotated[FilterText, Query(description=TEXT_DESCRIPTION)] = None,
    everyone: Annotated[
        bool, Query(description="Calls of all users, for an admin who names no user.")
    ] = False,
    limit: Limit = 50,
    cursor: str | None = None,
) -> OperationsResult:
    """Return the calls made for this user, the newest first.

    Filters look at no more than 10,000 calls for one page, and `stopped_after` says when that was too few.
    """


@PAIR.route(
    "GET",
    "/{tool_call_id:path}/bundle",
    summary="Export a call",
    admin_description="Return a zip of a call made for the user in Memex-User, or by an admin for none.",
    response_class=Response,
    responses=BUNDLE,
)
async def export_call(call: Call, tool_call_id: str) -> Response:
    """Return a zip of a call with all that it takes to replay it elsewhere: what it saw, and the log of it.

    It holds the files that the user read when the call was made, and is for who may read those.
    """
    bundle = await export_call_of(call.service, call.caller, tool_call_id, own_id=call.tool_call_id)
    return zip_answer(await asyncio.to_thread(pack_bundle, bundle), "call.zip")


@PAIR.operation(
    "eval_case_draft",
    summary="Show what a case of a call would contain",
    admin_summary="Show what a case of a call would contain, as an admin",
    admin_description="Return what a case of a call made for the user in Memex-User would contain.",
)
def draft_case(tool_call_id: str, body: CaseChoice) -> CaseDraftResult:
    """Return what a test case of a memory_context or memory_remember call would contain; nothing is kept."""


@PAIR.route(
    "POST",
    "/{tool_call_id:path}/case",
    summary="Make a case of a call",
    admin_description="Return a zip of a case of a call made for the user in Memex-User.",
    response_class=Response,
    responses=BUNDLE,
)
async def make_case(
    service: ServiceDependency, caller: HeaderCaller, tool_call_id: str, body: CaseChoice
) -> Response:
    """Return a zip of a test case of a call: what is asked and expected, and the memory that the call saw."""
    return zip_answer(await case_requests.pack_case(service, caller, tool_call_id, body), "case.zip")


@PAIR.operation(
    "memory_operation",
    summary="Show a call",
    admin_description="Return every attempt at a call made for the user in Memex-User, or by an admin for none.",
)
def read_operation(tool_call_id: str) -> Attempts:
    """Return every attempt at a call: what was asked, answered, written, and how long it took."""


@PAIR.operation(
    "memory_revert",
    summary="Undo a call",
    admin_description="Undo everything that a call made for the user in Memex-User wrote.",
)
def revert(tool_call_id: str, body: RevertBody | None = None) -> RevertResult:
    """Undo everything that a call wrote, all or nothing, as new versions."""


@PAIR.operation(
    "memory_revert_all",
    summary="Undo all that an actor did",
    admin_description="As for a user, among the calls made for the user in Memex-User, or by admins for none.",
)
def revert_all(body: RevertAllArguments) -> RevertAllResult:
    """Show what undoing all that an actor wrote since a time would change; with the `confirm` of that, do it.

    All is undone in one commit, as new versions. A file of which somebody else has rewritten the same lines since
    stays as it is, and `kept` names it. `PREVIEW_OUTDATED` says that something changed since the preview.
    """


@PAIR.handler(
    "memory_replay",
    summary="Run a call again",
    admin_description="Run a call made for the user in Memex-User again, or one by an admin for none.",
)
async def replay(
    service: ServiceDependency, caller: HeaderCaller, tool_call_id: str, body: ReplayBody | None = None
) -> ReplayResult | ChangedResult:
    """Run a call again in the state that it saw, offline, and compare it byte for byte; nothing is written.

    With something changed, the answer says what that does to what is chosen, to cost and time.
    """
    change = ReplayChange.of(**body.model_dump()) if body else ReplayChange()
    done: ReplayResult | ChangedResult
    if change.named:
        done = await replay_changed(service, caller, tool_call_id, change, may_restore=False)
    else:
        done = await replay_call(service, caller, tool_call_id, may_restore=False)
    return await without_forgotten(service.database, caller, done)
