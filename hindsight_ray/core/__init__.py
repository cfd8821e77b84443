"""The science: pure functions over values. Time, randomness and opinions arrive as arguments."""
