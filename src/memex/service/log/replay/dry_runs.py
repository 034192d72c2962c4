"""Results of dry runs, from the log: so that exactly this is written, and a model need not be asked twice."""

from memex.errors import PlanChanged, ValidationFailed
from memex.service.log.replay.replay import logged_options
from memex.service.log.replay.rerun import load_call
from memex.service.tools.remember import REMEMBER
from memex.service.tools.tool_context import ShownPlan
from memex.store.access import Access
from memex.store.database import Database
from memex.subagent.engine import ENGINE


async def load_dry_run(database: Database, access: Access, tool_call_id: str) -> ShownPlan:
    """Return what a dry run of memory_remember showed, as the log has it.

    Raises:
        OperationNotFound: the caller made no such call.
        ValidationFailed: the call was no dry run of memory_remember.
        PlanChanged: this version of Memex plans otherwise.
    """
    async with database.transaction(access) as connection:
        logged = await load_call(connection, access, tool_call_id)
    operation = logged.operation
    if operation.kind != REMEMBER.name or operation.status != "dry_run":
        raise ValidationFailed(
            f"The call {tool_call_id!r} was no dry run of memory_remember.",
            hint="Name the tool_call_id of the answer to a call with dry_run: true.",
        )
    if operation.engine != ENGINE:
        raise PlanChanged("Memex was updated since the dry run.", dry_run_id=tool_call_id)
    options = logged_options(logged)
    return ShownPlan(
        arguments=operation.request,
        result=logged.result,
        config=operation.config or {},
        planner=options.planner,
        spending=options.spending,
    )
