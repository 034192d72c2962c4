"""The prompts that the models read: one Markdown file a prompt."""
