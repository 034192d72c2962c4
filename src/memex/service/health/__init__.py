"""Whether a service works: what the doctor says, and the figures of a tenant."""
