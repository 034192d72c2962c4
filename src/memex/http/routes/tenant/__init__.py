"""The routes of administrators for their tenant: users, projects, quotas and keys."""
