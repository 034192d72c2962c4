"""Words, late interaction and vectors, made into one ranking."""
