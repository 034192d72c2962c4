"""Identity: the keys and users of a tenant, and what is kept in memory of who calls."""
