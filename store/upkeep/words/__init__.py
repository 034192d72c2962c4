"""Erasing words for good, in every version, row and index that holds them, with a receipt."""
