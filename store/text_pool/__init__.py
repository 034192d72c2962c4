"""Work on long texts, in processes that can be killed."""
