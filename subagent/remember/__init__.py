"""Remember: where the statements of a text are stored, and the file changes that store them."""
