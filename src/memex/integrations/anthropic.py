"""Memory as tools of Anthropic's Messages API, with the library `anthropic`.

memory = memex.for_user("alice")
message = await client.messages.create(model=…, max_tokens=…, messages=messages, tools=tools())
ran = await run_tool_use(message, memory)
messages += [{"role": "assistant", "content": message.content}, {"role": "user", "content": ran.blocks}]

Claude's own memory tool, which works on files, is in `memex.integrations.anthropic_memory`.
"""

import asyncio
from dataclasses import dataclass
from typing import Any, cast

from memex.api.memex import UserMemory
from memex.integrations.extras import required_extra
from memex.integrations.profiles import answer, check_response, definitions, is_ours
from memex.service.tools.definitions import Profile
from memex.toolcalls import ToolCallOutcome

with required_extra("anthropic"):
    from anthropic.types import Message, ToolParam, ToolResultBlockParam
    from anthropic.types.beta import BetaMessage


@dataclass(frozen=True, slots=True)
class ToolUseResults:
    """The results of the tool uses of one message.

    Attributes:
        blocks: the results, in the order of the uses: the content of the next message of the user.
        others: the uses of tools that are not Memex's: the host adds their results to the same message.
        outcomes: by the id of the use, with the whole result or the error, for the host.
    """

    blocks: list[ToolResultBlockParam]
    others: list[Any]
    outcomes: dict[str, ToolCallOutcome]


def tools(profile: Profile = "agent") -> list[ToolParam]:
    """Return the tools as the Messages API takes them."""
    return [cast("ToolParam", definition.rendered("anthropic")) for definition in definitions(profile)]


async def run_tool_use(
    message: Message | BetaMessage, memory: UserMemory, *, profile: Profile = "agent"
) -> ToolUseResults:
    """Run the uses of Memex's tools in a message, all at once, and return their results.

    An error is a result too, marked as one, with its code and what to do next. Calls go to the log under the ids of
    the API; one that is run twice is done once.

    Raises:
        ValidationFailed: the message is no object of the library, such as a dict.
    """
    check_response(message, Message, BetaMessage)
    made = [block for block in message.content if block.type == "tool_use"]
    ours = [use for use in made if is_ours(use.name)]
    outcomes = await asyncio.gather(
        *(
            answer(memory, use.name, cast("Any", use.input), tool_call_id=use.id, profile=profile)
            for use in ours
        )
    )
    return ToolUseResults(
        blocks=[_block(use.id, outcome) for use, outcome in zip(ours, outcomes, strict=True)],
        others=[use for use in made if not is_ours(use.name)],
        outcomes={use.id: outcome for use, outcome in zip(ours, outcomes, strict=True)},
    )


def _block(tool_use_id: str, outcome: ToolCallOutcome) -> ToolResultBlockParam:
    block: ToolResultBlockParam = {
        "type": "tool_result",
        "tool_use_id": tool_use_id,
        "content": outcome.text,
    }
    if outcome.error is not None:
        block["is_error"] = True
    return block
