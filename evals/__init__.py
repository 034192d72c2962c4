"""Measurements of how well and how fast Memex remembers."""
