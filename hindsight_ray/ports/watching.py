"""Who is told of each call at the door: when it came, how it ended, never what it said."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol


@dataclass(slots=True)
class Seen:
    """What is known of one call so far. No text, no id of a memory, no name of a caller."""

    verb: str
    tenant: str = ""  # empty until the ticket was verified
    revision: int | None = None  # of the policy that the answer names
    decided_at: int = 0  # the latest revision that this process has read; 0 before the first
    degraded: tuple[str, ...] = ()


class Watch(Protocol):
    """Watches calls from their beginning to their end."""

    def request(self, verb: str) -> AbstractContextManager[Seen]:
        """A call of this verb, for as long as the context lasts; left by the error it raised."""
        ...
