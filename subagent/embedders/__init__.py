"""Texts as vectors: a provider over HTTP, a model on this machine, or hashed letters; chosen by name."""
