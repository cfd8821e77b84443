"""What must a simulation give so that its runs can be replayed, and does it keep its word?

An `Environment` restores the state that a recorded prefix led to, says what a baseline policy
would have chosen in place of a recorded decision, and runs on to an outcome. A replay sees the
memory as it was recorded and no other; what it writes, counts or logs goes nowhere; tools that
cannot be undone are answered from the record or refused.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from hindsight_ray.core.attribution.provenance import ruling_outcome
from hindsight_ray.core.digest import digest
from hindsight_ray.domain.event import Event, MemoryRef
from hindsight_ray.domain.run import Trajectory
from hindsight_ray.errors import InvalidInput

_SAME = 1e-9  # outcomes nearer than this are equal


class Restored(NamedTuple):
    """A state, and a digest that is equal exactly for equal states."""

    state: Any
    digest: str


class Environment(Protocol):
    """A simulation whose runs can be replayed. It travels to workers, so it must pickle."""

    @property
    def name(self) -> str:
        """The environment and its version: outcomes kept under another name are not used."""
        ...

    @property
    def deterministic(self) -> bool:
        """Whether the seed changes nothing, so that one replay of a kind is enough."""
        ...

    def restore(self, prefix: Sequence[Event]) -> Restored:
        """The state after exactly these recorded events; the first of them is the run's first."""
        ...

    def redecide(self, event: Event, policy: str) -> object:
        """What `policy` chooses in place of this decision: anything that `continue_` understands.

        Raises `InvalidInput` for a policy that the environment does not know.
        """
        ...

    def continue_(self, state: Any, seed: int, script: "Script") -> float:
        """Run on from `state` to the end and return the outcome, -1 to 1.

        Decisions are made as recorded, those of `script.redecided` as it says, and those whose
        memories were withheld anew by the agent's own policy with what it is offered then.
        """
        ...


@dataclass(frozen=True, slots=True)
class RecordedMemory:
    """Memory as a replay sees it: what was offered then, less what is withheld. Read-only."""

    offers: Mapping[str, tuple[tuple[MemoryRef, str], ...]]  # by decision: references and texts
    withheld: frozenset[tuple[str, str]] = frozenset()  # decision and memory

    def offered(self, decision: str) -> tuple[tuple[MemoryRef, str], ...]:
        """The memories that this decision is offered, with their texts at the revisions seen."""
        found = self.offers.get(decision, ())
        return tuple(one for one in found if (decision, one[0].id) not in self.withheld)

    def changed(self, decision: str) -> bool:
        """Whether something is withheld from this decision."""
        return any((decision, ref.id) in self.withheld for ref, _ in self.offers.get(decision, ()))

    def write(self, *_anything: object, **_more: object) -> None:
        """Goes nowhere: a replay leaves no trace."""


@dataclass(frozen=True, slots=True)
class RecordedTools:
    """Tools that cannot be undone, answered from the record."""

    calls: Sequence[Event]

    def call(self, name: str, arguments: object) -> Event:
        """The recorded call of this tool with these arguments.

        Raises `InvalidInput` where there is none: such a call is refused, not made.
        """
        wanted = digest(arguments)
        for event in self.calls:
            tool = event.tool
            if tool is not None and tool.name == name and tool.arguments_digest == wanted:
                return event
        raise InvalidInput(
            f"`tool` {name!r} was not called with these arguments in the record, and a replay"
            " makes no call that cannot be undone",
            tool=name,
        )


@dataclass(frozen=True, slots=True)
class Script:
    """How a replay differs from the record, and what it may see of the world."""

    redecided: Mapping[str, object] = field(default_factory=dict[str, object])  # by event id
    memory: RecordedMemory = field(default_factory=lambda: RecordedMemory({}))
    tools: RecordedTools = field(default_factory=lambda: RecordedTools(()))


class Change(NamedTuple):
    """What is different in one replay: decisions made anew, memories withheld from decisions."""

    redecided: frozenset[str] = frozenset()
    withheld: frozenset[tuple[str, str]] = frozenset()


class Request(NamedTuple):
    """One replay: what is different, and the seed of everything random."""

    change: Change
    seed: int


@dataclass(frozen=True, slots=True)
class Replay:
    """The job that a worker does: restore the state before `events[start]` and run on."""

    environment: Environment
    events: tuple[Event, ...]
    start: int
    policy: str
    offers: Mapping[str, tuple[tuple[MemoryRef, str], ...]]

    def __call__(self, request: Request) -> float:
        """The outcome of one replay. Raises `InvalidInput` if it is no number from -1 to 1."""
        later = {str(event.event_id): event for event in self.events[self.start :]}
        script = Script(
            redecided={
                one: self.environment.redecide(later[one], self.policy)
                for one in sorted(request.change.redecided)
            },
            memory=RecordedMemory(self.offers, request.change.withheld),
            tools=RecordedTools(self.events),
        )
        state = self.environment.restore(self.events[: self.start]).state
        outcome = float(self.environment.continue_(state, request.seed, script))
        if not -1.0 <= outcome <= 1.0:
            raise InvalidInput(f"`continue_` gave {outcome!r}; an outcome is from -1 to 1")
        return outcome

    def key_base(self) -> str:
        """A digest of everything but the request that an outcome depends on."""
        return digest(
            {
                "environment": self.environment.name,
                "state": self.environment.restore(self.events[: self.start]).digest,
                "start": self.start,
                "policy": self.policy,
                "events": [event.model_dump(mode="json") for event in self.events],
                "offers": [
                    [decision, ref.id, ref.revision, text]
                    for decision, offered in sorted(self.offers.items())
                    for ref, text in offered
                ],
            }
        )


def request_key(base: str, request: Request) -> str:
    """The key of one replay: the state, the coalition and the seed, in one digest."""
    change, seed = request
    return digest([base, sorted(change.redecided), sorted(map(list, change.withheld)), seed])


def offers_of(
    events: Sequence[Event], texts: Mapping[MemoryRef, str]
) -> dict[str, tuple[tuple[MemoryRef, str], ...]]:
    """For each decision, the memories offered to its agent since its last one, and those used.

    Those without a text are left out: whoever asks may not read them.
    """
    waiting: dict[str, list[MemoryRef]] = {}
    found: dict[str, tuple[tuple[MemoryRef, str], ...]] = {}
    for event in events:
        mine = waiting.setdefault(str(event.agent), [])
        mine.extend(event.offered)
        if event.kind == "decision":
            refs = dict.fromkeys([*mine, *event.used])
            found[str(event.event_id)] = tuple((ref, texts[ref]) for ref in refs if ref in texts)
            mine.clear()
    return found


def check_environment(
    environment: Environment, trajectory: Trajectory, texts: Mapping[MemoryRef, str] | None = None
) -> tuple[str, ...]:
    """What an adapter gets wrong on a recorded run, in words; `()` if it keeps its word.

    Restoring the events before each `state` event that carries a digest must give that digest, and
    the untouched replay from the first decision, with the run's own seed, the recorded outcome.
    """
    events = trajectory.events
    faults = [
        f"restoring the {at} events before {event.event_id} gives state {found!r}, and"
        f" {event.state_digest!r} was recorded"
        for at, event in enumerate(events)
        if event.state_digest
        and (found := environment.restore(events[:at]).digest) != event.state_digest
    ]
    outcome = ruling_outcome(trajectory.outcomes)
    if outcome is None:
        return (*faults, "no outcome was recorded, so there is nothing to compare a replay with")
    start = first_decision(events)
    replay = Replay(environment, events, start, "", offers_of(events, texts or {}))
    again = replay(Request(Change(), own_seed(trajectory)))
    if abs(again - outcome.value) > _SAME:
        faults.append(f"the untouched replay gives {again!r}, and {outcome.value!r} was recorded")
    return tuple(faults)


def first_decision(events: Sequence[Event], among: Iterable[str] | None = None) -> int:
    """The position of the first decision, or of the first event `among` these ids."""
    wanted = None if among is None else set(among)
    for at, event in enumerate(events):
        if event.kind == "decision" if wanted is None else event.event_id in wanted:
            return at
    return len(events)


def own_seed(trajectory: Trajectory) -> int:
    """The seed that the run was made with, 0 where none was recorded."""
    return trajectory.run.seed or 0
