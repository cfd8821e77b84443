"""A team restores a web shop: three agents, a few users, two tenants, one shared memory."""
