"""What a scripted model answers, in the words of each provider's API, with tool call ids of the test's own."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.kit.model_server import CREATED, Request, Step

Arguments = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Wire:
    """How a provider's API carries a tool call, a closing text, and the tools' results."""

    calls: "Any"
    says: "Any"
    results: "Any"


def chat_calls(*calls: tuple[str, str, Arguments | str]) -> Step:
    """Return an answer of Chat Completions that calls tools: id, name and arguments of each."""
    made = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": _text(arguments)}}
        for call_id, name, arguments in calls
    ]
    return _chat({"role": "assistant", "content": None, "tool_calls": made}, "tool_calls")


def chat_says(text: str) -> Step:
    """Return an answer of Chat Completions that is a text."""
    return _chat({"role": "assistant", "content": text}, "stop")


def chat_results(request: Request) -> list[str]:
    """Return what the tools answered, as the model reads it."""
    return request.tool_results


def responses_calls(*calls: tuple[str, str, Arguments | str]) -> Step:
    """Return an answer of the Responses API that calls tools."""
    return _responses(
        [
            {
                "type": "function_call",
                "id": f"fc_{call_id}",
                "call_id": call_id,
                "name": name,
                "arguments": _text(arguments),
                "status": "completed",
            }
            for call_id, name, arguments in calls
        ]
    )


def responses_says(text: str) -> Step:
    """Return an answer of the Responses API that is a text."""
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return _responses(
        [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}]
    )


def anthropic_calls(*calls: tuple[str, str, Arguments]) -> Step:
    """Return an answer of Anthropic's Messages API that calls tools."""
    return _anthropic(
        [
            {"type": "tool_use", "id": call_id, "name": name, "input": dict(arguments)}
            for call_id, name, arguments in calls
        ],
        "tool_use",
    )


def anthropic_says(text: str) -> Step:
    """Return an answer of Anthropic's Messages API that is a text."""
    return _anthropic([{"type": "text", "text": text}], "end_turn")


def anthropic_results(request: Request) -> list[str]:
    """Return what the tools answered, as the model reads it."""
    return [
        block["content"] if isinstance(block["content"], str) else block["content"][0]["text"]
        for message in request.messages
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_result"
    ]


def gemini_calls(*calls: tuple[str, str, Arguments]) -> Step:
    """Return an answer of Gemini's API that calls tools."""
    return _gemini(
        [
            {"functionCall": {"id": call_id, "name": name, "args": dict(given)}}
            for call_id, name, given in calls
        ]
    )


def gemini_says(text: str) -> Step:
    """Return an answer of Gemini's API that is a text."""
    return _gemini([{"text": text}])


def gemini_results(request: Request) -> list[str]:
    """Return what the tools answered, as the model reads it."""
    answers = [
        part["functionResponse"]["response"]
        for content in request.body["contents"]
        for part in content["parts"]
        if "functionResponse" in part
    ]
    return [answer["result"] if "result" in answer else json.dumps(answer) for answer in answers]


CHAT = Wire(chat_calls, chat_says, chat_results)
RESPONSES = Wire(responses_calls, responses_says, chat_results)
ANTHROPIC = Wire(anthropic_calls, anthropic_says, anthropic_results)
GEMINI = Wire(gemini_calls, gemini_says, gemini_results)


def _text(arguments: Arguments | str) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _chat(message: Mapping[str, Any], reason: str) -> Step:
    return Step(
        body={
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": CREATED,
            "model": "scripted",
            "choices": [{"index": 0, "finish_reason": reason, "logprobs": None, "message": message}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
    )


def _responses(output: Sequence[Mapping[str, Any]]) -> Step:
    return Step(
        body={
            "id": "resp_1",
            "object": "response",
            "created_at": CREATED,
            "model": "scripted",
            "status": "completed",
            "error": None,
            "incomplete_details": None,
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": 1,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": 1,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 2,
            },
        }
    )


def _anthropic(content: Sequence[Mapping[str, Any]], reason: str) -> Step:
    return Step(
        body={
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "scripted",
            "content": content,
            "stop_reason": reason,
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    )


def _gemini(parts: Sequence[Mapping[str, Any]]) -> Step:
    return Step(
        body={
            "candidates": [
                {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
            ],
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
            "modelVersion": "scripted",
        }
    )
