"""Adapters around adapters: they add one quality and keep the port's contract."""
