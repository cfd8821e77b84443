"""Foreign logs read as runs and events."""
