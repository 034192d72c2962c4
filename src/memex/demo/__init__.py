"""A small memory to try Memex on: an invented person, her people, and the boat that she restores."""
