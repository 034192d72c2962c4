"""Does a model take the right tool? The definitions of the two tools, read by a model, over messages of users.

MEMEX_MODEL=openai:MODEL python -m memex.evals.choosing [--prompts-dir FOLDER]
"""

import argparse
import asyncio
import json
from collections import Counter
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.exceptions import AgentRunError

from memex.errors import ValidationFailed
from memex.service.tools.definitions import define
from memex.settings import read_settings
from memex.subagent.model.chat import ChatModel, ModelAccess, chat_model

Choice = Literal["memory_context", "memory_remember", "none"]
RIGHT_CHOICES: dict[str, Choice] = {
    "recall": "memory_context",
    "remember": "memory_remember",
    "neither": "none",
}
INSTRUCTIONS = (
    "You are an assistant that works for a user. These are your tools:\n\n{tools}\n\n"
    "Say which of them you call first about the user's message, before you answer: memory_context, "
    "memory_remember, or none."
)


class First(BaseModel):
    """What is called first."""

    tool: Choice


@dataclass(frozen=True, slots=True)
class ToolChoiceCase:
    """What a user says, and what is right to call first."""

    name: str
    text: str
    right: Choice


def load_cases() -> list[ToolChoiceCase]:
    """Return the messages of `evals/cases/tools/`, in their order."""
    text = (files("memex.evals") / "cases" / "tools" / "choices.yaml").read_text(encoding="utf-8")
    return [
        ToolChoiceCase(f"{kind}/{name}", said, RIGHT_CHOICES[kind])
        for kind, group in yaml.safe_load(text).items()
        for name, said in group.items()
    ]


async def choose(
    chat: ChatModel, cases: list[ToolChoiceCase], prompts_dir: Path | None = None
) -> dict[str, Choice]:
    """Return what a model calls first about each message, by its name; one request each, at temperature 0."""
    tools = json.dumps(
        [definition.rendered("anthropic") for definition in define("agent", prompts_dir)], ensure_ascii=False
    )
    agent = Agent(
        await chat.model(),
        output_type=NativeOutput(First),
        instructions=INSTRUCTIONS.format(tools=tools),
        model_settings={"temperature": 0.0, "max_tokens": 64},
    )
    return {message.name: (await agent.run(message.text)).output.tool for message in cases}


def render_report(cases: list[ToolChoiceCase], chosen: dict[str, Choice]) -> str:
    """Return the table of what was right and what was chosen, and the messages that went wrong."""
    counts = Counter((message.right, chosen[message.name]) for message in cases)
    lines = [
        f"{'right':<16}" + "".join(f"{tool:>16}" for tool in RIGHT_CHOICES.values()) + f"{'right of all':>16}"
    ]
    for right in RIGHT_CHOICES.values():
        total = sum(counts[right, tool] for tool in RIGHT_CHOICES.values())
        cells = "".join(f"{counts[right, tool]:>16}" for tool in RIGHT_CHOICES.values())
        lines.append(f"{right:<16}{cells}{f'{counts[right, right]} of {total}':>16}")
    wrong = [message for message in cases if chosen[message.name] != message.right]
    lines.append(f"{len(cases) - len(wrong)} of {len(cases)} right")
    lines += [f"  {message.name}: {chosen[message.name]}" for message in wrong]
    return "\n".join(lines)


def main() -> None:
    """Ask the model of MEMEX_MODEL, and print the table."""
    parser = argparse.ArgumentParser(description="How well the definitions of the tools guide a model.")
    parser.add_argument("--prompts-dir", type=Path, help="Prompts that go before those of Memex.")
    prompts_dir: Path | None = parser.parse_args().prompts_dir
    settings = read_settings()
    if settings.model == "builtin":
        raise SystemExit("Set MEMEX_MODEL: the rules call no tools, so there is nothing to measure.")
    key = settings.openai_api_key
    access = ModelAccess(
        key.get_secret_value() if key else None, settings.openai_base_url, api=settings.model_api
    )
    asked = load_cases()

    async def run() -> dict[str, Choice]:
        chat = chat_model(settings.model, access, price=settings.model_price)
        try:
            return await choose(chat, asked, prompts_dir)
        finally:
            await chat.close()

    try:
        print(render_report(asked, asyncio.run(run())))  # noqa: T201  # its output
    except ValidationFailed as error:
        raise SystemExit(f"{error.message} {error.hint}") from None
    except AgentRunError as error:
        raise SystemExit(f"The model did not answer: {error}") from None


if __name__ == "__main__":
    main()
