"""Rows of dreams: reads of a mount, and the proposals that are kept."""
