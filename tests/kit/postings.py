"""Postings taken apart again, for the tests of the index."""


def unpack(posting: int) -> tuple[int, int, int]:
    """Return chunk id, length and frequency of an entry that `bm25.entry` made."""
    return posting >> 32, posting >> 16 & 65_535, posting & 65_535
