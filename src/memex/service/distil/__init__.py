"""Distilling: statements of memory from conversations, with citations, and the way back from one to the other."""
