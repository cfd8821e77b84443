"""Speeds and quality, each as a ratio against a bound or a peer in the same run."""
