"""Commands for operators: serving, setup, keys, projects, the schema, the index and diagnosis."""
