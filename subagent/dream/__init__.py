"""A dream: what of a mount can be tidied, the edits that do it, and the proof that nothing is lost. Pure."""
