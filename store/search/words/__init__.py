"""Words of the index that depend on more than the language: due days, and data."""
