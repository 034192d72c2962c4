"""The journal: the texts that were told, word for word."""
