"""Every environment variable, in one frozen class, read once at start."""
