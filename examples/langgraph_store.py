"""A graph of LangGraph whose nodes keep what they learn in a store that uses Memex."""

import asyncio
import sys
from typing import TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore

from memex import Memex
from memex.integrations.langgraph import MemexStore


class GraphState(TypedDict):
    """The values that the nodes of the graph pass on."""

    said: str
    known: list[str]


async def learn(state: GraphState, *, store: BaseStore) -> dict[str, list[str]]:
    """Store the message, and return all stored messages about tea."""
    await store.aput(("facts",), str(hash(state["said"])), {"text": state["said"]})
    found = await store.asearch(("facts",), query="tea")
    return {"known": [item.value["text"] for item in found]}


async def main(said: str) -> None:
    """Run the graph for alice."""
    async with Memex() as memex:
        store = MemexStore(memex.for_user("alice", actor="langgraph"))
        graph = StateGraph(GraphState).add_node(learn).add_edge(START, "learn").add_edge("learn", END)
        state = await graph.compile(store=store).ainvoke({"said": said, "known": []})
        print(*state["known"], sep="\n")


asyncio.run(main(" ".join(sys.argv[1:]) or "I prefer oolong tea."))
