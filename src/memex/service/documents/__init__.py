"""Documents: files of a client's folder, pushed by the client, found and read beside memory."""
