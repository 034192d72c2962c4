"""Documents: files of a client's folder, mirrored beside memory, with an index of their own."""
