"""Replay: a logged call is run again in the state that it saw, here or from a bundle, and compared."""
