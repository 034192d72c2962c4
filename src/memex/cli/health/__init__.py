"""Checks of Memex: `memex doctor` for this machine, `memex service health` for a running service."""
