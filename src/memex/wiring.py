"""Settings in, a running Service out; closes what it opened."""
