"""Which PostgreSQL server is meant; said without its driver, which a home in a file never loads."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Server:
    """Which database is meant. `named` says where its address came from, for messages."""

    dsn: str
    named: str
