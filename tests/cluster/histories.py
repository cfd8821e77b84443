"""A history of reads and revokes over several brokers, and who read what they no longer could.

Every call notes when it began and ended on one clock of this process. A read that began after a
revoke had returned must be decided at that revision or a later one, and show nothing of the scope.
"""

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from hindsight_ray.actors.roles import stable_number
from hindsight_ray.domain.caller import Ticket
from tests.cluster.conftest import Team


@dataclass(frozen=True, slots=True)
class Read:
    """One search: when it began and ended, what it was decided at, how many it showed."""

    broker: int
    began: float
    ended: float
    revision: int
    hits: int


@dataclass(frozen=True, slots=True)
class Revoked:
    """One revoke that has returned."""

    began: float
    ended: float
    revision: int


@dataclass(slots=True)
class History:
    """Everything that was read, by several threads, and every revoke with the grant before it."""

    reads: list[Read] = field(default_factory=list[Read])
    revokes: list[Revoked] = field(default_factory=list[Revoked])
    granted: list[tuple[float, int]] = field(default_factory=list[tuple[float, int]])  # began

    def stale(self) -> list[Read]:
        """Reads that began after a revoke returned, and before the next grant, and saw anyway.

        A read whose revision is older than a revoke that had returned before it began is stale
        too, whatever it showed.
        """
        found: list[Read] = []
        for read in self.reads:
            before = [one for one in self.revokes if one.ended <= read.began]
            if not before:
                continue
            last = max(before, key=lambda one: one.revision)
            again = any(last.ended <= began <= read.ended for began, _ in self.granted)
            if read.revision < last.revision or (read.hits and not again):
                found.append(read)
        return found


class Readers:
    """Threads that search the shared scope without pause, one on each broker."""

    def __init__(self, team: Team, history: History, agent: str, scope: str, brokers: int) -> None:
        self._team = team
        self._history = history
        self._scope = scope
        self._stop = threading.Event()
        self.failures: list[Exception] = []
        self._threads = [
            threading.Thread(target=self._read, args=(broker, self._ticket(agent, broker, brokers)))
            for broker in range(brokers)
        ]
        self._counts = [0] * brokers
        self._moved = threading.Condition()

    def __enter__(self) -> "Readers":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def wait_for(self, more: int, *, but: int | None = None) -> None:
        """Return once every broker (but one that cannot) has answered so many more reads."""
        with self._moved:
            wanted = [count + more for count in self._counts]
            moved = self._moved.wait_for(
                lambda: all(
                    broker == but or count >= wanted[broker]
                    for broker, count in enumerate(self._counts)
                ),
                timeout=60,
            )
        assert moved, f"readers stand still at {self._counts}"

    def _ticket(self, agent: str, broker: int, brokers: int) -> Ticket:
        """A ticket whose calls go to this broker first."""
        while True:
            ticket = self._team.ticket(agent)
            if stable_number(ticket.token, brokers) == broker:
                return ticket

    def _read(self, broker: int, ticket: Ticket) -> None:
        memory: Any = self._team.client.as_caller(ticket)
        try:
            while not self._stop.is_set():
                began = time.monotonic()
                found = memory.search("the lighthouse", scopes=[self._scope])
                read = Read(broker, began, time.monotonic(), found.revision, len(found.hits))
                self._history.reads.append(read)
                with self._moved:
                    self._counts[broker] += 1
                    self._moved.notify_all()
        except Exception as failure:  # noqa: BLE001 - told by the test
            self.failures.append(failure)


def share(team: Team, history: History, owner: Any, scope: str, to: str) -> None:
    began = time.monotonic()
    grant = owner.share(scope, to=to, command_id=team.command())
    history.granted.append((began, grant.revision))


def revoke(team: Team, history: History, owner: Any, scope: str, to: str) -> Revoked:
    began = time.monotonic()
    grant = owner.revoke(scope, to=to, command_id=team.command())
    done = Revoked(began, time.monotonic(), grant.revision)
    history.revokes.append(done)
    return done
