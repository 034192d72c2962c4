"""The parts of the log that a caller may read: calls, their traces, blame, exposure and the queue."""
