"""The operations that a caller may ask of Memex, one module a noun."""
