"""Which project a folder belongs to, found at the client from what stands in the folder. Nothing is ever run."""
