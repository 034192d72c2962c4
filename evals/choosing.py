"""Does a model take the right tool, and does it settle what an answer leaves open?

A model reads the definitions of the two tools. First it says which of them it would call about a message of a user.
Then, in dialogues of two turns, it has called memory_remember, the answer names stored statements by their handles,
and the user says more: which handles does the next call name in `outdated`?

MEMEX_MODEL=openai:MODEL python -m memex.evals.choosing [--prompts-dir FOLDER]
"""

import argparse
import asyncio
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.exceptions import AgentRunError

from memex.errors import ValidationFailed
from memex.service.tools.definitions import define
from memex.settings import read_settings
from memex.subagent.model.chat import ChatModel, ModelAccess, chat_model
from memex.subagent.remember import note
from memex.subagent.remember.filing.handles import handle_of
from memex.toolcalls import result_text

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
SETTLING = (
    "You are an assistant that works for a user. These are your tools:\n\n{tools}\n\n"
    "You have called memory_remember about the user's first message. Say which handles your next call of "
    "memory_remember names in `outdated`, after the user's second message: an empty list if none."
)
PATH = "user/notes.md"


class First(BaseModel):
    """What is called first."""

    tool: Choice


@dataclass(frozen=True, slots=True)
class ToolChoiceCase:
    """The words of a user, and the tool that is right to call first."""

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


class NextCall(BaseModel):
    """The handles that the next call of memory_remember names; none if it names none, or if nothing is called."""

    outdated: list[str]


@dataclass(frozen=True, slots=True)
class SettlingCase:
    """A dialogue of two turns, and the handles that the call after it should name.

    Attributes:
        name: its kind and its name.
        first: what the user says first.
        answer: what memory_remember answers to that, as a model reads it.
        then: what the user says next.
        right: the handles of the statements that no longer hold.
    """

    name: str
    first: str
    answer: str
    then: str
    right: frozenset[str]


def load_dialogues() -> list[SettlingCase]:
    """Return the dialogues of `evals/cases/tools/`, in their order."""
    text = (files("memex.evals") / "cases" / "tools" / "dialogues.yaml").read_text(encoding="utf-8")
    return [
        _dialogue(kind, name, said)
        for kind, group in yaml.safe_load(text).items()
        for name, said in group.items()
    ]


async def settle(
    chat: ChatModel, cases: list[SettlingCase], prompts_dir: Path | None = None
) -> dict[str, frozenset[str]]:
    """Return the handles that a model names after each dialogue, by its name; at temperature 0."""
    tools = json.dumps(
        [definition.rendered("anthropic") for definition in define("agent", prompts_dir)], ensure_ascii=False
    )
    agent = Agent(
        await chat.model(),
        output_type=NativeOutput(NextCall),
        instructions=SETTLING.format(tools=tools),
        model_settings={"temperature": 0.0, "max_tokens": 128},
    )
    asked = {
        case.name: f"User: {case.first}\nAnswer of memory_remember: {case.answer}\nUser: {case.then}"
        for case in cases
    }
    return {name: frozenset((await agent.run(text)).output.outdated) for name, text in asked.items()}


def render_settled(cases: list[SettlingCase], named: dict[str, frozenset[str]]) -> str:
    """Return how many dialogues of each kind went right, and those that went wrong."""
    lines = []
    for kind in dict.fromkeys(case.name.partition("/")[0] for case in cases):
        of_kind = [case for case in cases if case.name.startswith(f"{kind}/")]
        right = sum(named[case.name] == case.right for case in of_kind)
        lines.append(f"{kind:<16}{f'{right} of {len(of_kind)} right':>16}")
    wrong = [case.name for case in cases if named[case.name] != case.right]
    lines.append(f"{len(cases) - len(wrong)} of {len(cases)} dialogues right")
    return "\n".join([*lines, *(f"  {name}: {', '.join(sorted(named[name])) or 'none'}" for name in wrong)])


def _dialogue(kind: str, name: str, said: Mapping[str, Any]) -> SettlingCase:
    handles = [handle_of(PATH, text) for text in said["stored"]]
    found = [
        {"handle": handle, "path": PATH, "older": text, "text": text, "newer": said["first"]}
        for handle, text in zip(handles, said["stored"], strict=True)
    ]
    is_rival = kind != "chosen"
    result = {
        "status": "committed" if is_rival else "nothing",
        "writes": [{"path": PATH, "version": 2, "reason": "1 added"}] if is_rival else [],
        "skipped": [] if is_rival else [{"reason": "forget"}],
        "rivals": found if is_rival else [],
        "candidates": [] if is_rival else found,
        "note": note.RIVALS if is_rival else note.CANDIDATES.format(was="was"),
    }
    meant = {"replaced": range(len(handles)), "both_hold": ()}.get(kind, said.get("meant"))
    right = frozenset(handles[at] for at in meant or ())
    return SettlingCase(
        f"{kind}/{name}", said["first"], result_text("memory_remember", result), said["then"], right
    )


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
    asked, dialogues = load_cases(), load_dialogues()

    async def run() -> str:
        chat = chat_model(settings.model, access, price=settings.model_price)
        try:
            chosen = render_report(asked, await choose(chat, asked, prompts_dir))
            return f"{chosen}\n\n{render_settled(dialogues, await settle(chat, dialogues, prompts_dir))}"
        finally:
            await chat.close()

    try:
        print(asyncio.run(run()))  # noqa: T201  # its output
    except ValidationFailed as error:
        raise SystemExit(f"{error.message} {error.hint}") from None
    except AgentRunError as error:
        raise SystemExit(f"The model did not answer: {error}") from None


if __name__ == "__main__":
    main()
