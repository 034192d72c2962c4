"""What remembers: memory operations and their SQL."""
