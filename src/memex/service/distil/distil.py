"""Distil conversations for a caller: statements that a person made in them become statements of memory."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from memex.service.call import Caller, plain_arguments
from memex.service.distil.answer import DistilResult
from memex.service.distil.tool import DISTIL, NAME
from memex.service.service import Service
from memex.store.access import Channel

CHANNEL: Channel = "import"  # of the revisions that are written


async def distil(
    service: Service,
    caller: Caller,
    given: dict[str, Any],
    *,
    tool_call_id: str | None = None,
    now: datetime | None = None,
) -> DistilResult:
    """Take statements from conversations, or show which would be taken; one call reads at most 1,000 messages.

    `given` are the arguments of `DistilArguments`, and `now` is the clock of the call, for evals.

    Raises:
        ConversationNotFound: the user has no such conversation.
        ProjectNotFound: the user is not a member of the project.
        PlanChanged: what a dry run showed would not be written any more.
        ValidationFailed: an argument is wrong.
    """
    access = replace(caller.access, channel=CHANNEL)
    caller = replace(caller, access=await service.identities.look_up(caller.principal, access))
    asked = plain_arguments(given)
    made = await service.execute(caller, NAME, asked, tool_call_id=tool_call_id, now=now, own=DISTIL)
    return DistilResult.model_validate(made)
