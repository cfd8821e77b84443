"""Memory stores: vectors and their search."""
