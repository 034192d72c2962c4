"""Pages about documents."""
