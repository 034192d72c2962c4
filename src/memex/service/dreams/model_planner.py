"""The model that plans more edits in a dream: within the limits of one dream, and the tenant's money of the day."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

from memex.service.call import Caller
from memex.service.dreams.dreaming import PlansMore
from memex.service.service import Service
from memex.service.snapshots import LiveSnapshots, MemoryView
from memex.service.spending import TenantSpending
from memex.store.log.call import CallAnswer
from memex.subagent import prompts
from memex.subagent.dream.edits import Group
from memex.subagent.dream.pages import MountState
from memex.subagent.dream.rules import Refused
from memex.subagent.dream.signals import Signal
from memex.subagent.limits import Meter
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.model.chat import ChatModel

ASK = "dream_model"  # the name in the log of what a model was asked in a dream


def planner_of(service: Service, caller: Caller) -> PlansMore | None:
    """Return what plans more edits by the model of dreams; None if there is none."""
    return None if service.dream_model is None else partial(_plan, service, caller, service.dream_model)


async def _plan(
    service: Service,
    caller: Caller,
    chat: ChatModel,
    state: MountState,
    signals: Sequence[Signal],
    refused: Refused,
) -> list[Group]:
    """Return the edits that a model proposes. Each request stands in the log."""
    from memex.subagent.model.ask import ModelSession  # noqa: PLC0415  # a second of loading
    from memex.subagent.model.dreaming import plan_by_model  # noqa: PLC0415

    async with service.recorder.recorded(caller, ASK, {"mount": state.mount}) as log:
        spending = TenantSpending(
            service.database, caller.access, datetime.now(UTC).date(), service.planners.daily_usd
        )
        prompt = prompts.load("dream", service.prompts_dir)
        live = LiveSnapshots(service.database, caller.access, call=log.call)
        async with live.begin(MemoryView(), "fresh") as snapshots:  # which holds no connection
            tools = MemoryTools(snapshots.open, log.call, spending=spending)
            session = ModelSession(chat, Meter(service.dream_limits), tools)
            groups = await plan_by_model(state, signals, refused, prompt, session)
        result = {"groups": len(groups)}
        await log.add("answered", CallAnswer(result, {"mount": state.mount}, result))
    return groups
