"""Who and what made an outcome."""
