"""What a slow job has read, looked for again where it writes.

A job reads in one transaction, thinks outside any (a model, a long review), and writes in another.
A user may have been erased in between, and what it thought is of what it read: so whoever writes
looks, in the transaction that writes, whether all of that is there still.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.run import Run
from hindsight_ray.errors import Busy
from hindsight_ray.ports import Unit
from hindsight_ray.service.admit import absent


@dataclass(frozen=True, slots=True)
class Basis:
    """A run that is thought about, with the runs and the revisions of memories beside it."""

    run: Run
    others: Sequence[Run] = ()
    seen: Sequence[MemoryRef] = ()

    async def require(self, unit: Unit) -> None:
        """Raise `NotFound` if the run is gone, `Busy` if anything else is: that is, was erased."""
        run = self.run
        if await unit.runs.get(run.tenant, run.run_id) is None:
            raise absent("run", run.run_id)
        others = [await unit.runs.get(one.tenant, one.run_id) for one in self.others]
        left = await unit.memories.at(run.tenant, self.seen)
        if None in others or len(left) < len(self.seen):
            raise Busy(
                f"`run` {run.run_id!r} was looked at with what is erased by now; ask again",
                run=run.run_id,
            )
