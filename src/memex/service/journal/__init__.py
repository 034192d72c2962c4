"""The journal as people look through it, and how entries are made of earlier calls."""
