"""The tools: their arguments, their results and what they do, one module a noun."""
