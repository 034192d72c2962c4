"""Memex made known to the programs that people run agents in: their configuration, and a text for their agents."""
