"""Memory operations and their SQL: the layer that remembers."""
