"""A user's waiting time: the service over HTTP on real notes, beside a plain one on the same Postgres."""
