"""What decides: one request in, memory operations out."""
