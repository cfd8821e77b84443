"""Attribution in stages: structure, comparison or a model shortlists, and replay decides.

Replaying every decision of a long run costs more than anybody pays. So the decisions that may have
led to the outcome are put in order, by comparable runs where there are enough, else by a model's
opinion, then by where failures point, then, if one is handed over, by a learned prior (there is
none by default); and replayed a few at a time, the most suspect first, until
one group shows an effect or the budget is spent. Decisions of different groups that only together
make a difference are not found so: that takes `shapley` over all of them.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hindsight_ray.client.calls import Calls
from hindsight_ray.client.replaying import by_replay
from hindsight_ray.core.attribution.environment import Environment
from hindsight_ray.core.attribution.features import observed
from hindsight_ray.core.attribution.prior import Prior
from hindsight_ray.core.attribution.provenance import may_have_led
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.credit import Abstained, Attribution
from hindsight_ray.domain.ids import checked_uuid
from hindsight_ray.domain.run import Trajectory
from hindsight_ray.errors import InvalidInput
from hindsight_ray.ports import TaskRunner
from hindsight_ray.service.replayed import BUDGET

METHOD = "staged"
GROUP = 6  # decisions replayed together: 64 coalitions of them


async def staged(
    calls: Calls,
    run_id: str,
    environment: Environment | None,
    *,
    policy: str = "baseline",
    budget: int = BUDGET,
    group: int = GROUP,
    strategy: str = "all at once",
    prior: Prior | None = None,
    seed: int = 0,
    cache: str | Path | None = None,
    workers: TaskRunner | None = None,
    submit: bool = True,
) -> Attribution:
    """Credit of the first group of suspects that makes a difference, or an abstention.

    `group` decisions play at a time; `budget` is for all replays together; `strategy` is how a
    model is asked, where one is. The other options are those of `client/replaying.py`.
    """
    if group < 1:
        raise InvalidInput(f"`group` {group} holds no decision", field="group")
    identity: Any = checked_uuid(run_id)
    record: c.ReplayRecord = await calls.ask(c.ReadForReplay(run_id=identity))
    places = {str(one.event_id): n for n, one in enumerate(may_have_led(record.trajectory))}
    learned = _learned(prior, record.trajectory)
    order = await _suspects(calls, identity, places, strategy, learned)
    spent, tried = 0, 0
    found: Attribution | None = None
    for first in range(0, max(len(order), 1), group):
        among = order[first : first + group]
        found = await by_replay(
            calls, run_id, "shapley", environment, policy=policy, budget=budget - spent,
            seed=seed, among=among, cache=cache, workers=workers, submit=False,
        )  # fmt: skip
        spent += found.evaluations
        tried += len(among)
        if found.abstained is None or found.baseline is None or spent >= budget:
            break  # a difference was found, or replaying is impossible, or too dear to go on
    assert found is not None  # noqa: S101 - the range is never empty
    found = _told(found, tried, len(order), spent)
    if submit and found.outcome is not None:
        await calls.ask(c.SubmitCredits(run_id=identity, attribution=found))
    return found


async def _suspects(
    calls: Calls,
    run_id: Any,
    places: Mapping[str, int],
    strategy: str,
    learned: Mapping[str, float],
) -> list[str]:
    """The decisions of the slice, the most suspect first; equally suspect ones in order of time."""
    compared = await calls.ask(c.Attribute(run_id=run_id, method="spectrum"))
    first = _scores(compared)
    if not first:
        fields = {"run_id": run_id, "method": "judge", "strategy": strategy}
        first = _scores(await calls.ask(c.Attribute.model_validate(fields)))
    second = _scores(await calls.ask(c.Attribute(run_id=run_id, method="blame")))

    def key(one: str) -> tuple[float, float, float, int]:
        third = learned.get(one, 0.0)
        return -first.get(one, 0.0), -second.get(one, 0.0), -third, places[one]

    return sorted(places, key=key)


def _learned(prior: Prior | None, trajectory: Trajectory) -> dict[str, float]:
    """The chance of each decision by a prior, where somebody hands one over."""
    if prior is None:
        return {}
    seen = observed(trajectory.events)
    chances: list[float] = prior.chances(seen.rows).tolist()
    return {str(one.event_id): chance for one, chance in zip(seen.decisions, chances, strict=True)}


def _scores(found: Attribution) -> dict[str, float]:
    """How suspect each event is; nothing where the method abstained."""
    return {one.target.id: abs(one.value) for one in found.credits if one.target.kind == "event"}


def _told(found: Attribution, tried: int, of: int, spent: int) -> Attribution:
    """The result under this method's name, with what all groups together took."""
    abstained = found.abstained
    if abstained is not None:
        reason = f"{abstained.reason}; {tried} of {of} decisions were tried, the most suspect first"
        abstained = Abstained(method=METHOD, reason=reason)
    return found.model_copy(update={"method": METHOD, "abstained": abstained, "evaluations": spent})
