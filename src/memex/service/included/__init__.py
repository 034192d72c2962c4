"""What a context holds beside memory where the host asks for it: the kinds, and how they are found and replayed."""
