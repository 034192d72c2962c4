"""What runs inside a coding agent: `memex-hook`, which notes an event and ends. The standard library alone."""
