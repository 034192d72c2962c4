"""Upkeep: rebuilding indexes, restoring scopes, throw-away tenants, and the database report of `memex doctor`."""
