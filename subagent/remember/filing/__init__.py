"""Filing of statements: where each goes, and how it is put into a Markdown file and taken out. Pure."""
