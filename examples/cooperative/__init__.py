"""Somebody else's environment: a cooperative one of PettingZoo's family, recorded and replayed."""
