"""Memex: memory for AI agents, kept as Markdown files in Postgres with full revisions."""
