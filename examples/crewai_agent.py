"""An agent of CrewAI with the memory tools. CrewAI needs an environment of its own; see the guide."""

import sys

from crewai import LLM, Agent

from memex.integrations.crewai import memory_tools

agent = Agent(
    role="Assistant",
    goal="Answer well, with what is known of the user.",
    backstory="You have a long-term memory. Recall before you answer; remember lasting facts.",
    llm=LLM(model="openai/gpt-5-mini"),
    tools=memory_tools(user_id="alice", actor="crewai-agent"),
)
print(agent.kickoff(" ".join(sys.argv[1:]) or "I prefer oolong tea. What else do you know of me?"))
