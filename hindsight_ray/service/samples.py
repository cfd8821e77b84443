"""A look at memories drawn at random: who may read and review them says whether they are good.

The draw is over active memories that the caller may read and review, in order of id, so a seed
names a sample; where none is named one is drawn, since a weekly look at the same ones estimates
nothing, and who knew them could keep them clean. Verdicts are kept as metadata and survive the
memories that they are about.
"""

from dataclasses import replace

from hindsight_ray.core import samples
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import DrawSample, JudgeSample, ReadSamples
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.rows import RowFilter
from hindsight_ray.domain.upkeep import Sample, SampleReport, Verdict
from hindsight_ray.ports import Unit
from hindsight_ray.service import commit, offered, once
from hindsight_ray.service.admit import Admitted, admit, row_filter
from hindsight_ray.service.seen import presentable, visible
from hindsight_ray.service.world import World

_PAGE = 2_000
_SEED_DIGITS = 8  # of a token, so that a seed can be read and typed


async def draw(world: World, caller: Caller, command: DrawSample) -> Sample:
    """Draw at most `n` memories. Raises `AccessDenied` for a named scope without `review`."""
    async with world.ledger.writing() as unit:
        admitted = await admit(world, unit, caller)
        if command.scope is not None:
            admitted.require("review", command.scope)
        rows = replace(await row_filter(world, unit, admitted), statuses=frozenset({"active"}))
        if command.scope is not None:
            rows = replace(rows, scopes=frozenset({command.scope}))
        reviewable = await _reviewable(unit, admitted, rows)
        seed = int(world.ids.token()[-_SEED_DIGITS:], 16) if command.seed is None else command.seed
        drawn = samples.drawn(reviewable, command.n, seed)
        current = await unit.memories.current(caller.tenant, drawn)
        memories = [current[name] for name in drawn if name in current]
        scope = command.scope or caller.principal
        by = commit.author(admitted, "DrawSample", "review", scope)
        await commit.note(unit, caller.tenant, scope, by)
        shown = await presentable(unit, admitted, memories)
        growth = await offered.showing_memories(unit, admitted, shown)
        await offered.grow_within(unit, admitted, [growth])
    return Sample(seed=seed, population=len(reviewable), memories=tuple(shown))


async def judge(world: World, caller: Caller, command: JudgeSample) -> Verdict:
    """Record a verdict on a memory as it is now. Needs `review` on its scope."""
    async with world.ledger.writing() as unit:
        admitted = await admit(world, unit, caller)
        memory = await visible(unit, admitted, command.memory_id)
        admitted.require("review", memory.scope)
        done = await once.replayed(unit, caller, command.command_id, command, Verdict)
        if done is not None:
            return done
        verdict = Verdict(
            memory_id=memory.id,
            revision=memory.revision,
            scope=memory.scope,
            verdict=command.verdict,
            by=caller.principal,
            at=admitted.now,
        )
        await unit.upkeep.judge(caller.tenant, verdict)
        by = commit.author(admitted, "JudgeSample", "review", memory.scope)
        await commit.note(unit, caller.tenant, memory.id, by)
        await once.keep(unit, caller, command.command_id, command, verdict)
    return verdict


async def report(world: World, caller: Caller, command: ReadSamples) -> SampleReport:
    """The estimated share of bad memories, of scopes that the caller may review."""
    async with world.ledger.reading() as unit:
        admitted = await admit(world, unit, caller)
        if command.scope is not None:
            admitted.require("review", command.scope)
        said = await unit.upkeep.verdicts(caller.tenant)
    return samples.report(
        one
        for one in said
        if (command.scope is None or one.scope == command.scope)
        and admitted.access.may("review", one.scope)
        and admitted.access.may("read", one.scope)
    )


async def _reviewable(unit: Unit, admitted: Admitted, rows: RowFilter) -> list[str]:
    found: list[str] = []
    after = 0
    while page := await unit.upkeep.page(rows, after=after, limit=_PAGE):
        found += [memory.id for _, memory in page if _may_judge(admitted, memory)]
        after = page[-1][0]
    return found


def _may_judge(admitted: Admitted, memory: Memory) -> bool:
    return admitted.access.may("review", memory.scope) and admitted.may_read(
        memory.audience, memory.labels
    )
