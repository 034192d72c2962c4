"""Answers of a scripted model as events, as coding agents ask for them: of Anthropic and of OpenAI."""

import json
from collections.abc import Sequence
from typing import Any


def anthropic_events(text: str, calls: Sequence[tuple[str, str]], *, number: int, model: str) -> bytes:
    """Return an answer of the Messages API, streamed; `calls` are names of tools with arguments as JSON."""
    message: dict[str, Any] = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 1},
    }
    events: list[dict[str, Any]] = [{"type": "message_start", "message": message}]
    blocks: list[tuple[dict[str, Any], dict[str, Any]]] = []
    if text:
        blocks.append(({"type": "text", "text": ""}, {"type": "text_delta", "text": text}))
    for at, (name, arguments) in enumerate(calls):
        used = {"type": "tool_use", "id": f"toolu_{number}_{at}", "name": name, "input": {}}
        blocks.append((used, {"type": "input_json_delta", "partial_json": arguments}))
    for index, (block, delta) in enumerate(blocks):
        events += [
            {"type": "content_block_start", "index": index, "content_block": block},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    ended = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    events.append({"type": "message_delta", "delta": ended, "usage": {"output_tokens": 9}})
    events.append({"type": "message_stop"})
    return _sent(events)


def response_events(response: dict[str, Any]) -> bytes:
    """Return an answer of the Responses API, streamed."""
    events: list[dict[str, Any]] = [{"type": "response.created", "response": {"id": response["id"]}}]
    events += [
        {"type": "response.output_item.done", "output_index": index, "item": item}
        for index, item in enumerate(response["output"])
    ]
    events.append({"type": "response.completed", "response": response})
    return _sent(events)


def completion_events(completion: dict[str, Any]) -> bytes:
    """Return an answer of Chat Completions, streamed."""
    [choice] = completion["choices"]
    message = choice["message"]
    delta: dict[str, Any] = {"role": "assistant", "content": message["content"]}
    if "tool_calls" in message:
        delta["tool_calls"] = [one | {"index": index} for index, one in enumerate(message["tool_calls"])]
    shared = completion | {"object": "chat.completion.chunk"}
    ended = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    chunks = [
        shared | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}], "usage": None},
        shared | {"choices": [ended]},
    ]
    return b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in chunks) + b"data: [DONE]\n\n"


def _sent(events: Sequence[dict[str, Any]]) -> bytes:
    return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events).encode()
