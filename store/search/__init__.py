"""Search: ranking files for a query, by words and by vectors, and the index that it reads."""
