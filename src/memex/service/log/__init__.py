"""What a caller may read from the log: calls, their traces, blame, exposure and the queue."""
