"""Measures how well memory is found: real data as memory files, asked through memory_find and memory_context."""
