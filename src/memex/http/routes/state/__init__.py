"""The routes about the service itself: its health, its numbers, and a greeting."""
