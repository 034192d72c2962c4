"""Sets of statements that are all true at the same time: whether one of them takes another one out of memory."""
