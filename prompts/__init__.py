"""What the models read: one Markdown file a prompt."""
