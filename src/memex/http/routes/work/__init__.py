"""Where work stands, over HTTP."""
