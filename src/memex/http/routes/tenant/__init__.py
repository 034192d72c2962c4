"""What administrators keep of their tenant: users, projects, quotas and keys."""
