"""The Model Context Protocol: the same tools for every client that speaks it."""
