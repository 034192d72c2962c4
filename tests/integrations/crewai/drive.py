"""Runs an agent of CrewAI for each line that comes in, and answers with its last words.

A line is `{"user": …, "model": …}`; or `{"example": …, "environment": …}`, answered with what the program prints.
"""

import io
import json
import os
import runpy
import sys
from contextlib import redirect_stdout
from typing import Any

from crewai import LLM, Agent

from memex.integrations.crewai import memory_tools


def agent_said(user: str, model: str) -> str:
    """Return the last words of an agent over a user's memory."""
    agent = Agent(
        role="Assistant",
        goal="Go on.",
        backstory="You have a memory.",
        llm=LLM(model="openai/gpt-4o-mini", base_url=model, api_key="-"),
        tools=memory_tools(user_id=user),
        verbose=False,
    )
    return str(agent.kickoff("Go on.").raw)


def example_said(example: str, environment: dict[str, str]) -> str:
    """Return what a program prints."""
    os.environ.update(environment)
    with redirect_stdout(io.StringIO()) as printed:
        runpy.run_path(example, run_name="__main__")
    return printed.getvalue()


def answered(asked: dict[str, Any]) -> str:
    """Return the answer to a line."""
    try:
        return example_said(**asked) if "example" in asked else agent_said(**asked)
    except Exception as error:  # noqa: BLE001  # the test wants to know
        return repr(error)


ready, sys.stdout = sys.stdout, sys.stderr  # CrewAI prints what its agents do
for line in sys.stdin:
    print(json.dumps(answered(json.loads(line))), file=ready, flush=True)
