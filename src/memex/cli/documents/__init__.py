"""The commands of documents."""
