"""The pages of Calls: the log as a list, one call with its story, its replay and comparisons."""
