"""Readers of outside material, one module a format."""
