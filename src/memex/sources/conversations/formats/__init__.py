"""One module a format of conversations."""
