"""The past: memory as it stood at an earlier moment, and where the lines of a file came from."""
