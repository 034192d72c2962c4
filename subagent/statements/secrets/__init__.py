"""Secrets in a whole text: where they stand, what kind they are, and the text without them. Pure."""
