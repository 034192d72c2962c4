"""Imports of conversations: files are read here, and put into a Memex here or elsewhere."""
