"""Conversations as evidence: what was said elsewhere, imported once, never changed, and searched beside memory."""
