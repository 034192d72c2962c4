"""What is derived of conversations about work, and what a person decided by hand."""
