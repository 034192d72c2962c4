"""How fast conversations are imported and found, beside references of the same run."""
