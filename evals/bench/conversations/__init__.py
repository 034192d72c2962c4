"""The time of importing and finding conversations, beside references of the same run."""
