"""The ledger in SQL, through SQLAlchemy Core: SQLite on one node."""
