"""What an empty memory offers: the demo, the way in for programs, and the import of a vault."""
