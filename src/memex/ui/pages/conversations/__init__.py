"""The pages of conversations: finding what was said, reading it, and where it came from."""
