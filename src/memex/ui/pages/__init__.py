"""The pages: a module a page, or a group of pages about one noun."""
