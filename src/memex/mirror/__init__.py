"""The client of documents: looks at a folder, and makes its root in a Memex equal to it."""
