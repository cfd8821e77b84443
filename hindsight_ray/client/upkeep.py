"""What a caller may ask about keeping memories in order: people's decisions, samples, the archive.

A base of `Memory`, apart from it only for length.
"""

from collections.abc import Iterable
from typing import Literal

from hindsight_ray.client.access import AccessCalls
from hindsight_ray.client.lists import listed
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.memory import MemoryType
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.domain.upkeep import (
    Calibration,
    Knowledge,
    LabelledPair,
    Maintained,
    ProjectClosed,
    Reembedding,
    Sample,
    SampleReport,
    SampleVerdict,
    Tier,
    Verdict,
    Waiting,
)


class UpkeepCalls(AccessCalls):
    """The verbs that keep memories in order, asked as the holder of one ticket."""

    async def pending(self, *, scope: str | None = None, limit: int = 50) -> tuple[Waiting, ...]:
        """What waits for a person, in scopes where this caller holds `review`."""
        return await self._ask(c.ListPending, scope=scope, limit=limit)

    async def decide(
        self,
        memory_id: str,
        decision: Literal["accept", "reject", "edit"],
        *,
        content: str | None = None,
        why: str = "",
        command_id: str | None = None,
    ) -> Receipt:
        """Accept, reject or edit what waits; an edit is accepted with its new `content`."""
        fields = {"memory_id": memory_id, "decision": decision, "content": content, "why": why}
        return await self._commanded(c.DecidePending, command_id, fields)

    async def sample(
        self, *, n: int = 20, seed: int | None = None, scope: str | None = None
    ) -> Sample:
        """Memories drawn at random, for a person to look at; others each time without a `seed`."""
        return await self._ask(c.DrawSample, n=n, seed=seed, scope=scope)

    async def judge(
        self, memory_id: str, verdict: SampleVerdict, *, command_id: str | None = None
    ) -> Verdict:
        """Record whether a memory that was drawn is good."""
        fields = {"memory_id": memory_id, "verdict": verdict}
        return await self._commanded(c.JudgeSample, command_id, fields)

    async def samples(self, *, scope: str | None = None) -> SampleReport:
        """The share of bad memories that samples show, with its interval, over time."""
        return await self._ask(c.ReadSamples, scope=scope)

    async def tiers(self, memory_ids: Iterable[str]) -> tuple[Tier, ...]:
        """How memories stand: hot, warm, cold or archived, and their retention."""
        return await self._ask(c.ReadTiers, memory_ids=listed(memory_ids, "memory_ids"))

    async def archive(self, memory_id: str, *, command_id: str | None = None) -> Receipt:
        """Put a memory away: out of search, and there to be restored."""
        return await self._commanded(c.Archive, command_id, {"memory_id": memory_id})

    async def restore(self, memory_id: str, *, command_id: str | None = None) -> Receipt:
        """Bring an archived memory back."""
        return await self._commanded(c.Restore, command_id, {"memory_id": memory_id})

    async def close_project(self, project: str, *, command_id: str | None = None) -> ProjectClosed:
        """Archive the memories of a project, where this caller holds `forget`."""
        return await self._commanded(c.CloseProject, command_id, {"project": project})

    async def export_knowledge(
        self,
        *,
        scope: str | None = None,
        types: Iterable[MemoryType] = ("experience", "procedure"),
    ) -> tuple[Knowledge, ...]:
        """Every approved experience that this caller may read, as a document."""
        after: str | None = None
        chosen = listed(types, "types")
        found: list[Knowledge] = []
        while True:
            page: tuple[Knowledge, ...] = await self._ask(
                c.ExportKnowledge, scope=scope, types=chosen, after=after
            )
            found += page
            if not page:
                return tuple(found)
            after = page[-1].lineage.memory_id

    # What needs the operator's rights

    async def maintain(self, *, slice_: int = 500) -> Maintained:
        """One slice of upkeep of this tenant; `done` says whether its pass has ended."""
        return await self._ask(c.Maintain, slice=slice_)

    async def reembed(
        self, model: str, *, dimension: int | None = None, api_base: str | None = None
    ) -> Reembedding:
        """One slice of changing the embedding model; ask again until its state is `done`."""
        return await self._ask(c.Reembed, model=model, dimension=dimension, api_base=api_base)

    async def calibrate(
        self, pairs: Iterable[LabelledPair], *, model: str | None = None
    ) -> Calibration:
        """The thresholds of a model from labelled pairs. Changes nothing."""
        return await self._ask(c.Calibrate, pairs=listed(pairs, "pairs"), model=model)
