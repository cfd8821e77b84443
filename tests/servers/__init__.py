"""Real servers for tests and figures, each on free loopback ports and stopped by its pid."""
