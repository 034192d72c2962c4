"""A stand-in for `langchain-openai`: the chat model by its name there, asked over the same wire."""

import os
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, convert_to_openai_messages
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from openai import AsyncOpenAI


class ChatOpenAI(BaseChatModel):
    """A chat model that asks OPENAI_BASE_URL, or `base_url`, for Chat Completions."""

    model: str
    base_url: str | None = None

    @property
    def _llm_type(self) -> str:
        return "stand-in"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        """Return the model with tools that it may call."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools])

    async def _agenerate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **options: Any
    ) -> ChatResult:
        url = self.base_url or os.environ["OPENAI_BASE_URL"]
        async with AsyncOpenAI(base_url=url, api_key="-", max_retries=0) as client:
            answer = await client.chat.completions.create(
                model=self.model,
                messages=convert_to_openai_messages(messages),  # type: ignore[arg-type]
                tools=options.get("tools") or [],
            )
        said = answer.choices[0].message.model_dump(exclude_none=True)
        from langchain_core.output_parsers.openai_tools import parse_tool_call

        calls = [parse_tool_call(call, return_id=True) for call in said.get("tool_calls", ())]
        message = AIMessage(content=said.get("content") or "", tool_calls=calls)  # type: ignore[arg-type]
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _generate(self, *arguments: Any, **options: Any) -> ChatResult:
        raise NotImplementedError
