"""Writes: edits are staged on a draft, checked, and committed in one transaction."""
