"""Commands about work: where it stands, and what a person decides about it."""
