"""Where statements are filed, and how they are put into a Markdown file and taken out of it. Pure."""
