"""How well and how fast Memex remembers."""
