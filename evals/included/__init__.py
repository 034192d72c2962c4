"""Measurements of memory that was made from conversations, beside the conversations themselves."""
