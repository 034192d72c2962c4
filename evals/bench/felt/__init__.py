"""What a user waits for: the service over HTTP on real notes, beside a plain service on the same Postgres."""
