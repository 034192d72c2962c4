"""Detection of a folder's project, at the client, from what stands in the folder. Nothing is ever run."""
