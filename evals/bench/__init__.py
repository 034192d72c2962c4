"""Benchmarks: how fast Memex is, beside references measured in the same run. `make bench` runs them."""
