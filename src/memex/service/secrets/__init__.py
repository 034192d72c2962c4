"""The handling of secrets in the texts that come in."""
