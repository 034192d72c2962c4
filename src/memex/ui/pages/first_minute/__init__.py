"""The offers of an empty memory: the demo, the way in for programs, and the import of a vault."""
