"""The check whether a context is empty where memory cannot answer, and only there."""
