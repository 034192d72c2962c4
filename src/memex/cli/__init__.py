"""The command `memex`."""
