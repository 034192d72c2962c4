"""Memory for the agents of other libraries: one thin module for each, over the same two tools."""
