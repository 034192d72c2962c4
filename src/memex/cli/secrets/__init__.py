"""`memex secrets` and `memex scan`."""
