"""Runs of test cases and cases made of calls: their documents, the folder of runs, and what administrators see."""
