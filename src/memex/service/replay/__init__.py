"""A call of the log is run again in the state that it saw, and compared with what the log has."""
