"""Attribution by replay, where the environment is: here, with the client that asks for it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hindsight_ray.adapters.tasks.kept import KeptHere, KeptInFolder
from hindsight_ray.adapters.tasks.local import LocalTasks
from hindsight_ray.client.calls import Calls
from hindsight_ray.core.attribution.decided import one_decision
from hindsight_ray.core.attribution.draws import draws_of
from hindsight_ray.core.attribution.environment import Environment
from hindsight_ray.core.attribution.players import PlayerKind
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.credit import Attribution
from hindsight_ray.domain.ids import checked_uuid
from hindsight_ray.errors import InvalidInput
from hindsight_ray.ports import TaskRunner
from hindsight_ray.service.replayed import BUDGET, Laboratory, Question, ReplayMethod, replayed

METHODS = ("shapley", "banzhaf", "owen", "ablation")


async def by_replay(
    calls: Calls,
    run_id: str,
    method: ReplayMethod,
    environment: Environment | None,
    *,
    players: PlayerKind = "decisions",
    policy: str = "baseline",
    budget: int = BUDGET,
    seed: int = 0,
    among: Iterable[str] | None = None,
    decision: str | None = None,
    cache: str | Path | None = None,
    workers: TaskRunner | None = None,
    submit: bool = True,
) -> Attribution:
    """Replay a run in `environment` and keep what comes out, unless `submit` is off.

    `policy` re-decides what is not as recorded; `among` shortlists decisions by event id; `cache`
    is a folder that keeps replays, so that a killed attribution goes on where it was. Replays are
    tasks of the cluster that the client is connected to, or run here.

    With `decision`, an event id, the memories offered to it play for whether it stayed as it was;
    that says nothing of the run's outcome and is not kept.
    """
    if environment is None:
        raise InvalidInput(
            f"`method` {method!r} replays the run: give the `environment` that it was made in",
            field="environment",
        )
    if method not in METHODS or players not in ("decisions", "agents", "memories"):
        raise InvalidInput(
            f"`method` {method!r} of {players!r} is not known; there are {', '.join(METHODS)} of"
            " decisions, agents and memories",
            field="method",
        )
    if decision is not None and players != "memories":
        raise InvalidInput("`decision` is for `players` 'memories' alone", field="decision")
    if budget < 1:
        raise InvalidInput(f"`budget` {budget} allows no replay", field="budget")
    record: c.ReplayRecord = await calls.ask(c.ReadForReplay(run_id=_checked(run_id)))
    trajectory = record.trajectory
    if decision is not None:
        environment, trajectory = one_decision(environment, trajectory, decision)
        among, submit = (decision,), False
    question = Question(
        method=method,
        players=players,
        policy=policy,
        budget=budget,
        seed=seed,
        among=None if among is None else frozenset(among),
        whether_decided=decision is not None,
    )
    lab = Laboratory(
        environment=environment,
        runner=workers or calls.connection.tasks or LocalTasks(),
        kept=KeptHere() if cache is None else KeptInFolder(Path(cache)),
        draws=draws_of(seed),
    )
    texts = {memory.ref: memory.content for memory in record.memories}
    found = await replayed(trajectory, texts, question, lab)
    if submit and found.outcome is not None:
        await calls.ask(c.SubmitCredits(run_id=_checked(run_id), attribution=found))
    return found


def _checked(run_id: str) -> Any:
    return checked_uuid(run_id)
