"""The layer that decides: one request in, memory operations out."""
