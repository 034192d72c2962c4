"""Commands for operators: serving, setup, keys, projects, the schema and the index."""
