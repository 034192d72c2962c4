"""The embedded Postgres server: one private server for each data directory."""
