"""The state of work: what turns of a session say of it, and what follows from all of that. No database."""
