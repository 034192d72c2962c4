"""The state of work, from Python."""
