"""The pages of People: users, keys and projects of a tenant, for administrators."""
