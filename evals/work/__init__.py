"""Measurements of how turns of sessions are read for work: labelled turns, precision and recall by kind."""
