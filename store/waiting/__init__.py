"""Waits for the database: who waits, for how long, and what is said when the wait was in vain."""
