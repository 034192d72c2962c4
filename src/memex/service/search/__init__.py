"""Searches as a person looks into them, and links."""
