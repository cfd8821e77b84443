"""The ledger in SQL: one file per small group of logs, all on one unit of work."""

from hindsight_ray.adapters.ledger.sql.ledger import SqlLedger, SqlUnit

__all__ = ["SqlLedger", "SqlUnit"]
