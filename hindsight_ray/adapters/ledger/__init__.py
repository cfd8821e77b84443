"""Ledgers: the place of record."""
