"""The command that measures what becomes of a statement when a newer one says otherwise."""
