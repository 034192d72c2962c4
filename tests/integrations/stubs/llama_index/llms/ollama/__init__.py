"""A stand-in for `llama-index-llms-ollama`: the model by its name there, asked for Chat Completions."""

import json
from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata, MessageRole
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from openai import AsyncOpenAI


class Ollama(FunctionCallingLLM):  # type: ignore[misc]
    """A model that calls functions, at `base_url`."""

    model: str
    base_url: str = "http://localhost:11434"

    @property
    def metadata(self) -> LLMMetadata:
        """What the model can do."""
        return LLMMetadata(is_chat_model=True, is_function_calling_model=True)

    def _prepare_chat_with_tools(
        self, tools: Sequence[Any], chat_history: Any = None, **options: Any
    ) -> dict[str, Any]:
        offered = [tool.metadata.to_openai_tool() for tool in tools]
        return {"messages": list(chat_history or []), "tools": offered}

    async def achat(self, messages: Sequence[ChatMessage], **options: Any) -> ChatResponse:
        """Ask once."""
        async with AsyncOpenAI(base_url=self.base_url, api_key="-", max_retries=0) as client:
            answer = await client.chat.completions.create(
                model=self.model,
                messages=[_message(message) for message in messages],  # type: ignore[misc]
                tools=options.get("tools") or [],
            )
        said = answer.choices[0].message
        calls = [call.model_dump() for call in said.tool_calls or ()]
        return ChatResponse(
            message=ChatMessage(
                role=MessageRole.ASSISTANT, content=said.content, additional_kwargs={"tool_calls": calls}
            ),
            raw=answer,
        )

    def get_tool_calls_from_response(
        self, response: ChatResponse, error_on_no_tool_call: bool = True, **options: Any
    ) -> list[ToolSelection]:
        """Return the calls of an answer."""
        return [
            ToolSelection(
                tool_id=call["id"],
                tool_name=call["function"]["name"],
                tool_kwargs=json.loads(call["function"]["arguments"]),
            )
            for call in response.message.additional_kwargs.get("tool_calls", ())
        ]

    def chat(self, *arguments: Any, **options: Any) -> Any:
        """Refuse: this one is asynchronous."""
        raise NotImplementedError

    complete = stream_chat = stream_complete = chat
    acomplete = astream_chat = astream_complete = chat


def _message(message: ChatMessage) -> dict[str, Any]:
    written: dict[str, Any] = {"role": message.role.value, "content": message.content or ""}
    if calls := message.additional_kwargs.get("tool_calls"):
        written["tool_calls"] = calls
    if call_id := message.additional_kwargs.get("tool_call_id"):
        written["tool_call_id"] = call_id
    return written
