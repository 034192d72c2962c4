"""Conversations: what a caller may ask about what was said elsewhere."""
