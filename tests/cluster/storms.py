"""Work without pause while processes are killed: what was acknowledged, and what is found.

Writers (one for each broker), recorders (one for each host) and an owner who grants (the authority)
do one thing after the other. A step that fails is done again under the same command id. Whoever
strikes waits until every stream goes on, so each kill is in the middle of all of them.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from hindsight_ray.actors.roles import stable_number
from hindsight_ray.domain.access_commands import WhoSees
from hindsight_ray.domain.caller import Ticket
from hindsight_ray.errors import HindsightError

EVENTS_PER_BATCH = 5
_GRANTS_EACH = 400  # of one owner, who may have 1,000: a long storm has several owners
_STILL_S = 120.0
_AGAIN_S = 0.1
_TRIES = 900  # a server that starts again may take its time


class Stream(threading.Thread):
    """One client that does step after step until it is told to stop."""

    def __init__(self, name: str, step: Callable[[int], Any]) -> None:
        super().__init__(name=name, daemon=True)
        self._step = step
        self._ended = threading.Event()
        self._moved = threading.Condition()
        self.acknowledged: list[Any] = []
        self.failed = 0
        self.failure: Exception | None = None

    def run(self) -> None:
        try:
            while not self._ended.is_set():
                done = self._done(len(self.acknowledged))
                with self._moved:
                    self.acknowledged.append(done)
                    self._moved.notify_all()
        except Exception as failure:  # noqa: BLE001 - told by `finish`
            self.failure = failure
            with self._moved:
                self._moved.notify_all()

    def _done(self, number: int) -> Any:
        for _ in range(_TRIES):
            try:
                return self._step(number)
            except HindsightError as error:
                self.failed += 1
                last = error
                threading.Event().wait(_AGAIN_S)
        raise last

    def go_on(self, more: int) -> None:
        """Return once so many further steps were acknowledged."""
        with self._moved:
            wanted = len(self.acknowledged) + more
            moved = self._moved.wait_for(
                lambda: len(self.acknowledged) >= wanted or self.failure is not None, _STILL_S
            )
        assert moved, f"{self.name} stands still"
        assert self.failure is None, f"{self.name} failed: {self.failure!r}"

    def stop(self) -> None:
        self._ended.set()

    def finish(self) -> list[Any]:
        self.stop()
        self.join()
        if self.failure is not None:
            raise self.failure
        return self.acknowledged


@dataclass(slots=True)
class Storm:
    """The streams over one deployment, and how long each killed actor took to answer again."""

    client: Any
    name: str
    brokers: int
    hosts: int
    streams: dict[str, Stream] = field(default_factory=dict[str, Stream])
    again_s: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    _writers: list[Any] = field(default_factory=list[Any])
    _recorders: list[tuple[Any, Any]] = field(default_factory=list[tuple[Any, Any]])

    @contextmanager
    def blowing(self) -> Iterator[None]:
        """Everybody is at work within the block."""
        for number in range(self.brokers):
            self._writer(number)
        for number in range(self.hosts):
            self._recorder(number)
        self._granter()
        for stream in self.streams.values():
            stream.start()
        try:
            yield
        finally:
            for stream in self.streams.values():
                stream.stop()

    def go_on(self, more: int = 3) -> None:
        for stream in self.streams.values():
            stream.go_on(more)

    def victims(self, turn: int, *, at_once: bool) -> list[list[str]]:
        """A broker, a host and the authority: killed one after the other, or all at once."""
        names = [f"broker-{turn % self.brokers}", f"recorder_host-{turn % self.hosts}"]
        names.append("authority-0")
        return [names] if at_once else [[name] for name in names]

    def struck(
        self,
        kill: Callable[[str], int],
        restarted: Callable[[str, int], int],
        names: Sequence[str],
    ) -> None:
        """Kill these actors amid the work, and wait until their successors answer."""
        self.go_on()
        killed = {name: (kill(name), time.monotonic()) for name in names}
        for name, (pid, at_s) in killed.items():
            restarted(name, pid)
            self.again_s.setdefault(name.rpartition("-")[0], []).append(time.monotonic() - at_s)
        self.go_on()

    def told(self) -> dict[str, Any]:
        """How much was acknowledged, how much of it is found, and what is not as it was said."""
        counts: dict[str, Any] = {}
        for stream in self.streams.values():
            stream.finish()
        counts["memories"] = self._found_memories()
        counts["events"] = self._found_events()
        counts["grants"] = self._found_grants()
        counts["sent again"] = sum(stream.failed for stream in self.streams.values())
        counts["again_s"] = self.again_s
        return counts

    def _ticket(self, agent: str, number: int, count: int) -> Ticket:
        """A ticket whose calls go to this broker first."""
        while True:
            ticket: Ticket = self.client.issue_ticket(tenant="acme", agent=agent, user=self.name)
            if stable_number(ticket.token, count) == number:
                return ticket

    def _writer(self, number: int) -> None:
        ticket = self._ticket(f"{self.name}-writer-{number}", number, self.brokers)
        memory = self.client.as_caller(ticket)
        self._writers.append(memory)

        def write(step: int) -> tuple[str, ...]:
            receipt = memory.write(
                _shelf(number, step), scope=f"user:{self.name}",
                command_id=f"shelf-{number}-{step}",
            )  # fmt: skip
            return tuple(receipt.ids)

        self._add(f"writer {number}", write)

    def _recorder(self, number: int) -> None:
        turn = 0
        while stable_number(f"{self.name}-recorder-{turn}", self.hosts) != number:
            turn += 1
        ticket = self.client.issue_ticket(
            tenant="acme", agent=f"{self.name}-recorder-{turn}", user=self.name
        )
        memory = self.client.as_caller(ticket)
        run = memory.run(goal=f"Count {number}", task_type="count")
        self._recorders.append((memory, run))
        begun: set[int] = set()

        def batch(step: int) -> int:
            if step not in begun:  # what a failed flush has kept is not told again
                begun.add(step)
                for i in range(EVENTS_PER_BATCH):
                    run.decide(f"step {step}.{i}")
            run.flush()
            return step

        self._add(f"recorder {number}", batch)

    def _granter(self) -> None:
        owners: list[Any] = []

        def grant(step: int) -> int:
            agent = self._owner(step)
            if step // _GRANTS_EACH == len(owners):
                ticket = self.client.issue_ticket(tenant="acme", agent=agent)
                owners.append(self.client.as_caller(ticket))
            given = owners[-1].share(
                f"agent:{agent}", to=f"agent:{self._guest(step)}", command_id=f"grant-{step}"
            )
            return int(given.revision)

        self._add("owner", grant)

    def _owner(self, step: int) -> str:
        return f"{self.name}-owner-{step // _GRANTS_EACH}"

    def _guest(self, step: int) -> str:
        return f"{self.name}-guest-{step}"

    def _add(self, name: str, step: Callable[[int], Any]) -> None:
        self.streams[name] = Stream(f"{self.name} {name}", step)

    def _found_memories(self) -> dict[str, int]:
        said = found = doubled = 0
        names: set[str] = set()
        for number, memory in enumerate(self._writers):
            for step, ids in enumerate(self.streams[f"writer {number}"].acknowledged):
                said += 1
                doubled += len(ids) != 1 or ids[0] in names
                names.update(ids)
                found += memory.get(ids[0]).content == _shelf(number, step)
        return {"acknowledged": said, "found": found, "doubled": doubled}

    def _found_events(self) -> dict[str, int]:
        said = found = wrong = 0
        for number, (memory, run) in enumerate(self._recorders):
            steps = self.streams[f"recorder {number}"].acknowledged
            run.close()
            trajectory = memory.trajectory(run.id)
            expected = [f"step {step}.{i}" for step in steps for i in range(EVENTS_PER_BATCH)]
            summaries = [event.summary for event in trajectory.events]
            said += len(expected)
            found += len(set(expected) & set(summaries))
            wrong += summaries != expected or bool(trajectory.gaps)
        return {"acknowledged": said, "found": found, "doubled": wrong}

    def _found_grants(self) -> dict[str, int]:
        revisions: list[int] = self.streams["owner"].acknowledged
        doubled = len(revisions) - len(set(revisions)) + (revisions != sorted(revisions))
        found = 0
        for first in range(0, len(revisions), _GRANTS_EACH):
            asked = WhoSees(scope=f"agent:{self._owner(first)}")
            seen = self.client.operator("acme").ask(asked)
            may = {seer.who for seer in seen.seers}
            steps = range(first, min(len(revisions), first + _GRANTS_EACH))
            found += sum(f"agent:{self._guest(step)}" in may for step in steps)
            doubled += seen.revision < revisions[-1]
        return {"acknowledged": len(revisions), "found": found, "doubled": doubled}


def _shelf(number: int, step: int) -> str:
    return f"Shelf {number}-{step} holds item {step * 7919 + number}"


def whole(told: dict[str, Any]) -> bool:
    """Whether all that was acknowledged was found, once."""
    parts = [told["memories"], told["events"], told["grants"]]
    return all(one["acknowledged"] == one["found"] > 0 and one["doubled"] == 0 for one in parts)
