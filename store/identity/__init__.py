"""Identity: API keys, tenants, projects and members, and which scopes a request may use."""
