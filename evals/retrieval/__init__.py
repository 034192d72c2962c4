"""How well memory is found: real data as memory files, asked through the two tools that search."""
