"""Context: finding, choosing and assembling the passages of memory that answer a query."""
