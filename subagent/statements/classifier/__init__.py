"""Which sentences are worth keeping, and as what: a linear classifier over words and parts of words."""
