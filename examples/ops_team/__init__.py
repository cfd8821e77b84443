"""A team restores a web shop: three agents, two users, two tenants, one shared memory."""
