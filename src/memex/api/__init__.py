"""The Python API: one user's memory with typed results, in this process or over HTTP."""
