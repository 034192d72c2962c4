"""Precision and recall of dreams, on known dirt in memories and on lines that only look like dirt."""
