"""Measurements of finding secrets in texts: made-up ones of public formats, and ordinary lines of notes."""
