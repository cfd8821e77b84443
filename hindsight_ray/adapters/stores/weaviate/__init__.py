"""Vectors in a Weaviate server: a collection per embedding model, a tenant of it per tenant."""
