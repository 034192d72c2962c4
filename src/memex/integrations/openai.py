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
from memex.integrations.profiles import answer, check_response, definitions, is_ours
from memex.service.tools.definitions import Profile
from memex.toolcalls import ToolCallOutcome

Api = Literal["chat", "responses"]


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

    Raises:
        ValidationFailed: the response is none of the library's objects, such as a dict.
    """
    check_response(response, ChatCompletion, Response)
    if isinstance(response, ChatCompletion):
        made: list[Any] = [*(response.choices[0].message.tool_calls or [])]
        named = [(call, call.id, call.function) for call in made if call.type == "function"]
    else:
        made = [item for item in response.output if item.type == "function_call"]
        named = [(item, item.call_id, item) for item in made]
    ours = [tool for tool in named if is_ours(tool[2].name)]
    answered = await asyncio.gather(
        *(
            answer(memory, function.name, function.arguments, tool_call_id=call_id, profile=profile)
            for _, call_id, function in ours
        )
    )
    outcomes = [(call_id, outcome) for (_, call_id, _), outcome in zip(ours, answered, strict=True)]
    shown = _tool_message if isinstance(response, ChatCompletion) else _tool_item
    return ToolCallResults(
        messages=[shown(call_id, outcome.text) for call_id, outcome in outcomes],
        others=[call for call in made if all(call is not known for known, _, _ in ours)],
        outcomes=dict(outcomes),
    )


def _tool_message(call_id: str, text: str) -> ChatCompletionToolMessageParam:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def _tool_item(call_id: str, text: str) -> FunctionCallOutput:
    return cast("FunctionCallOutput", {"type": "function_call_output", "call_id": call_id, "output": text})
