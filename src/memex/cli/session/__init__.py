"""Sessions: what a command can ask, of a service in this process or of one over HTTP."""
