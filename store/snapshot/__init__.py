"""Reads of one snapshot, of which several are made with one round trip."""
