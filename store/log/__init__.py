"""The log: every tool call with the operations inside it, the queue of calls, and what models cost."""
