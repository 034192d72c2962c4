"""Citations: which message of a conversation a statement of memory was taken from."""
