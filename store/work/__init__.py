"""Records about work: those derived from conversations, and those that a person decided by hand."""
