"""What credit does to memories: their utility is worked out anew from all the credit that counts.

Worked out anew, not added to, so that submitting again, revising an outcome or replacing a credit
leaves no trace of what was there before.
"""

from collections.abc import Iterable

from hindsight_ray.core.attribution.utility import COUNTS, utility
from hindsight_ray.domain.credit import Attribution, Credit, Credited
from hindsight_ray.domain.run import Outcome
from hindsight_ray.ports import Unit


def by_evaluator(outcome: Outcome) -> bool:
    """Whether an outcome is by somebody with `evaluate` who took no part."""
    return outcome.evaluates and not outcome.participant


async def rate(unit: Unit, tenant: str, attribution: Attribution) -> tuple[str, ...]:
    """Set the utility of each memory that this attribution names; their ids."""
    named = dict.fromkeys(credit.target.id for credit in _of_memories(attribution))
    for memory_id in named:
        known = await unit.credits.of_memory(tenant, memory_id)
        await unit.stats.set_utility(tenant, memory_id, utility(strongest(known, memory_id)))
    return tuple(named)


def strongest(known: Iterable[Credited], memory_id: str) -> list[Credit]:
    """One credit for each group of runs: replayed before statistical, then the latest."""
    best: dict[str, tuple[int, Credit]] = {}
    for one in known:
        if not one.counts:
            continue
        for credit in _of_memories(one.attribution):
            if credit.target.id != memory_id or credit.evidence not in COUNTS:
                continue
            weight = -COUNTS.index(credit.evidence)
            if one.group not in best or weight >= best[one.group][0]:
                best[one.group] = (weight, credit)
    return [credit for _, credit in best.values()]


def _of_memories(attribution: Attribution) -> list[Credit]:
    return [
        credit
        for credit in (*attribution.credits, *attribution.beside)
        if credit.target.kind == "memory"
    ]
