"""Where work stands, from Python."""
