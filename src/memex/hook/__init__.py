"""The program `memex-hook`, which notes an event of a coding agent and ends. The standard library alone."""
