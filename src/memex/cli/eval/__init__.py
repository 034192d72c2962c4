"""Commands that measure memory: cases, fixed states and retrieval."""
