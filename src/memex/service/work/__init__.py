"""The state of work: asked for, checked, and decided by hand."""
