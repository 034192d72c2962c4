"""Memory as tools of the OpenAI API: Chat Completions and Responses, with the library `openai`.

memory = memex.for_user("alice")
response = await client.chat.completions.create(model=…, messages=messages, tools=tools())
messages.append(response.choices[0].message)
messages += (await run_tool_calls(response, memory)).messages
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, overload

from openai.types.chat import ChatCompletion, ChatCompletionFunctionToolParam, ChatCompletionToolMessageParam
from openai.types.responses import FunctionToolParam, Response
from openai.types.responses.response_input_param import FunctionCallOutput

from memex.api.memex import UserMemory
from memex.integrations.profiles import answer, definitions, is_ours
from memex.service.tools.definitions import Profile
from memex.toolcalls import ToolCallOutcome

Api = Literal["chat", "responses"]


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A model's call of a function: the id that its result goes under, the name, the arguments as JSON."""

    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolCallResults:
    """The results of the tool calls of one response.

    Attributes:
        messages: the results, in the order of the calls: append them behind the model's own message or output.
        others: the calls of tools that are not Memex's, as the library gives them: the host answers these.
        outcomes: by the id of the call, with the whole result or the error, for the host.
    """

    messages: list[Any]
    others: list[Any]
    outcomes: dict[str, ToolCallOutcome]


@overload
def tools(
    api: Literal["chat"] = "chat", profile: Profile = "agent"
) -> list[ChatCompletionFunctionToolParam]: ...
@overload
def tools(api: Literal["responses"], profile: Profile = "agent") -> list[FunctionToolParam]: ...
def tools(api: Api = "chat", profile: Profile = "agent") -> Sequence[Any]:
    """Return the tools as that API takes them, with strict schemas."""
    form: Literal["openai", "openai-responses"] = "openai" if api == "chat" else "openai-responses"
    return [definition.rendered(form) for definition in definitions(profile)]


async def run_tool_calls(
    response: ChatCompletion | Response, memory: UserMemory, *, profile: Profile = "agent"
) -> ToolCallResults:
    """Run the calls of Memex's tools in a response, all at once, and return their results.

    An error is a result too, with its code and what to do next. Calls go to the log under the ids of the API; one
    that is run twice is done once.
    """
    if isinstance(response, ChatCompletion):
        made: list[tuple[FunctionCall | None, Any]] = [
            (
                FunctionCall(call.id, call.function.name, call.function.arguments)
                if call.type == "function"
                else None,
                call,
            )
            for call in response.choices[0].message.tool_calls or []
        ]
    else:
        made = [
            (FunctionCall(item.call_id, item.name, item.arguments), item)
            for item in response.output
            if item.type == "function_call"
        ]
    ours = [call for call, _ in made if call is not None and is_ours(call.name)]
    outcomes = await asyncio.gather(
        *(
            answer(memory, call.name, call.arguments, tool_call_id=call.call_id, profile=profile)
            for call in ours
        )
    )
    shown = _tool_message if isinstance(response, ChatCompletion) else _tool_item
    return ToolCallResults(
        messages=[shown(call, outcome.text) for call, outcome in zip(ours, outcomes, strict=True)],
        others=[made_call for call, made_call in made if call is None or not is_ours(call.name)],
        outcomes={call.call_id: outcome for call, outcome in zip(ours, outcomes, strict=True)},
    )


def _tool_message(call: FunctionCall, text: str) -> ChatCompletionToolMessageParam:
    return {"role": "tool", "tool_call_id": call.call_id, "content": text}


def _tool_item(call: FunctionCall, text: str) -> FunctionCallOutput:
    return cast(
        "FunctionCallOutput", {"type": "function_call_output", "call_id": call.call_id, "output": text}
    )
