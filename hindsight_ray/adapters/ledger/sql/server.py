"""Which PostgreSQL server is meant; said without its driver, which a home in a file never loads."""

from dataclasses import dataclass

# Not as one address: a password in it, be it the word, would be masked wherever this is said.
ADDRESS_IS = "like `postgresql://user@host:5432/database` with `:` and the password after the user"


@dataclass(frozen=True, slots=True)
class Server:
    """Which database is meant. `named` says where its address came from, for messages.

    `silence_s`: how long, beyond the wait for a lock, it may leave a question unanswered.
    """

    dsn: str
    named: str
    silence_s: float = 20.0
