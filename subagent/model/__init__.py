"""Model: the planner that asks a chat model, and the code that checks its answers."""
