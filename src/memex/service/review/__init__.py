"""What waits for a person: what it is, where it comes from, and what becomes of it."""
