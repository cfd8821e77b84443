"""The record of runs: who takes part in them, what was recorded, offered and remarked."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Protocol

from hindsight_ray.domain.event import Event, SequenceGap
from hindsight_ray.domain.rows import Offered
from hindsight_ray.domain.run import Annotation, Run


@dataclass(frozen=True, slots=True)
class Appended:
    """What appending a batch of events did."""

    stored: int
    repeated: int


@dataclass(frozen=True, slots=True)
class Batch:
    """What one agent has to record of one run."""

    tenant: str
    run_id: str
    agent: str
    events: Sequence[Event]


class RunLog(Protocol):
    """Runs, their participants and events."""

    async def create(self, run: Run) -> None: ...

    async def get(self, tenant: str, run_id: str) -> Run | None: ...

    async def get_all(self, runs: Sequence[tuple[str, str]]) -> Sequence[Run | None]:
        """`get` of many, each a tenant and a run's id: one query."""
        ...

    async def replace(self, run: Run) -> None:
        """Store the run's new state (participants, audience, closing time)."""
        ...

    async def newest(
        self,
        tenant: str,
        *,
        limit: int,
        before: str | None = None,
        task_type: str | None = None,
        readable: Callable[[Sequence[str]], bool] | None = None,
    ) -> Sequence[Run]:
        """Runs by start, newest first, older than the run id `before` if one is given; those only
        whose audience is `readable`. Of others no more is read than that."""
        ...

    async def append(self, tenant: str, run_id: str, events: Sequence[Event]) -> Appended:
        """Add events; equal ones are counted as repeated. Raises `EventConflict`, adding none."""
        ...

    async def append_all(self, batches: Sequence[Batch]) -> Sequence[Sequence[SequenceGap]] | None:
        """Add what these record, no agent of a run twice; return the gaps of each as they are now.

        None, with nothing added, if any of the events is there already.
        """
        ...

    async def events(self, tenant: str, run_id: str) -> Sequence[Event]:
        """All events by timestamp, then agent, incarnation and seq."""
        ...

    async def event_count(self, tenant: str, run_id: str) -> int: ...

    async def gaps(
        self, tenant: str, run_id: str, *, agent: str | None = None
    ) -> Sequence[SequenceGap]:
        """Missing numbers of a run, or of one agent in it."""
        ...

    async def enter(self, tenant: str, run_id: str, agent: str, session: str | None) -> None:
        """Note that this agent's session has this run open."""
        ...

    async def leave(self, tenant: str, run_id: str, agent: str, session: str | None) -> bool:
        """Note that it has it open no more; whether it had entered it."""
        ...

    async def open_runs(self, tenant: str, agent: str, session: str | None) -> Sequence[str]:
        """Runs not closed that this agent's session has entered and not left."""
        ...

    async def offered(self, tenant: str, run_id: str, agent: str) -> Offered: ...

    async def set_offered(self, tenant: str, run_id: str, agent: str, offered: Offered) -> None: ...

    async def labels_shown(self, tenant: str, run_ids: Sequence[str]) -> Mapping[str, Set[str]]:
        """By run: the labels of all that was offered in it to anybody, if there are any."""
        ...

    async def annotate(self, tenant: str, annotation: Annotation) -> None: ...

    async def annotations(self, tenant: str, run_id: str) -> Sequence[Annotation]: ...
