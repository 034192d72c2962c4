"""Exports that people upload: received into a file, read in a process of their own, and stored like any others."""
