"""Sections of a context beside memory, where the host asks for them: the kinds, the search, the replay."""
