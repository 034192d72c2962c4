"""Secrets in a text: what they look like, and where they stand. Pure."""
