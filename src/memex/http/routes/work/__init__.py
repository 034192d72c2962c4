"""The state of work, over HTTP."""
