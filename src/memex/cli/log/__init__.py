"""Commands on the log: calls, traces, replay, provenance, the queue and spending."""
