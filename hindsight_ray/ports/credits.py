"""Where a run's outcomes are kept, and the credit found for them by replays and comparisons."""

from collections.abc import Sequence
from typing import Protocol

from hindsight_ray.domain.credit import Credited
from hindsight_ray.domain.run import Outcome


class OutcomeLog(Protocol):
    """Outcomes of runs; one per run and owner, revisable."""

    async def put(self, tenant: str, outcome: Outcome, *, owner: str = "") -> None:
        """Keep this one in place of its owner's (`Caller.receipt_owner`; else who asserted it)."""
        ...

    async def of_run(self, tenant: str, run_id: str) -> Sequence[Outcome]:
        """By time, the latest last."""
        ...


class CreditLog(Protocol):
    """Attributions as they were submitted; the newest of each group and method counts."""

    async def put(self, tenant: str, credited: Credited, *, owner: str = "") -> None:
        """Keep this one in place of its owner's (`Caller.receipt_owner`; else who submitted it) of
        the same group and method."""
        ...

    async def of_run(self, tenant: str, run_id: str) -> Sequence[Credited]:
        """What was found about a run, by time, the latest last."""
        ...

    async def methods(self, tenant: str, group: str, *, owner: str) -> frozenset[str]:
        """The methods by which this owner's are kept of a group."""
        ...

    async def of_memory(self, tenant: str, memory_id: str) -> Sequence[Credited]:
        """What was found that names this memory, by time, the latest last."""
        ...
