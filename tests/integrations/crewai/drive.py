"""Runs an agent of CrewAI for each line that comes in, `{"user": …, "model": …}`; answers with its last words."""

import json
import sys

from crewai import LLM, Agent

from memex.integrations.crewai import memory_tools

ready = sys.stdout
sys.stdout = sys.stderr  # CrewAI prints what its agents do
for line in sys.stdin:
    asked = json.loads(line)
    agent = Agent(
        role="Assistant",
        goal="Go on.",
        backstory="You have a memory.",
        llm=LLM(model="openai/gpt-4o-mini", base_url=asked["model"], api_key="-"),
        tools=memory_tools(user_id=asked["user"]),
        verbose=False,
    )
    try:
        said = agent.kickoff("Go on.").raw
    except Exception as error:  # noqa: BLE001  # the test wants to know
        said = repr(error)
    print(said, file=ready, flush=True)
