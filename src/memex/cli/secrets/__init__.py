"""`memex secrets` and `memex secrets scan`."""
