"""The story: a team plays with a bad memory; replays tell whose choice and what memory it was."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import hindsight_ray as hr
from examples.cooperative.rounds import Episode, Game, Replayable
from examples.cooperative.spread import SPREAD

Tell = Callable[[str], None]
ADVICE = "In spread you should always go to landmark 0"  # right for one agent, wrong for another
MISLED = "agent_2"


@dataclass(frozen=True, slots=True)
class Played:
    """A run as it was recorded, and what it can be replayed in."""

    run_id: str
    outcome: float
    environment: Replayable


async def played(
    hindsight: hr.Hindsight, *, seed: int, game: Game = SPREAD, goal: str = "Cover all landmarks"
) -> Played:
    """Play one episode, each agent with a ticket of its own, and have it scored from outside."""
    episode = Episode(game, seed)
    memories = {agent: await _memory(hindsight, agent) for agent in episode.agents}
    lead, *others = episode.agents
    async with memories[lead].run(goal=goal, task_type="spread", seed=seed) as run:
        seats = [_Seat(lead, memories[lead], run)]
        for agent in others:
            recorder = await memories[agent].join(run.id)
            seats.append(_Seat(agent, memories[agent], recorder))
        before: Sequence[Any] = ()
        for _ in range(game.rounds):
            before = [await _round(seats, episode, before)]
        for seat in seats:
            await seat.recorder.flush()
    value = game.score(episode.world)
    judge = hindsight.operator("zoo")
    await judge.outcome(run.id, value, evaluator="the environment")
    events = (await judge.trajectory(run.id)).events
    return Played(str(run.id), value, Replayable(game, seed, events))


async def _memory(hindsight: hr.Hindsight, agent: str) -> hr.Memory:
    ticket = await hindsight.issue_ticket(tenant="zoo", agent=agent, user="keeper", session=agent)
    return hindsight.as_caller(ticket)


@dataclass(frozen=True, slots=True)
class _Seat:
    """An agent at the game, with its memory and its own recorder of the run."""

    agent: str
    memory: hr.Memory
    recorder: hr.RunRecorder


async def _round(seats: Sequence[_Seat], episode: Episode, before: Sequence[Any]) -> Any:
    """All agents choose, then the environment moves; the event that stands for its moving."""
    chosen: list[Any] = []
    for seat in seats:
        found = await seat.memory.search("where to go in spread", run=seat.recorder, k=1)
        seat.recorder.state(f"before {seat.agent} chooses", state_digest=episode.digest)
        choice = episode.game.choose(seat.agent, [hit.memory.content for hit in found.hits])
        decided = seat.recorder.decide(
            choice, used=found.ids, causes=before, edge_evidence="observed"
        )
        chosen.append(decided)
        await seat.recorder.flush()
        episode.decide(seat.agent, choice)
    moved = {"cycle": episode.cycle}
    return seats[0].recorder.tool(
        "world.step", arguments=moved, result="moved", causes=chosen, edge_evidence="observed"
    )


async def story(home: Path, tell: Tell, *, on_ray: bool = False, **options: Any) -> dict[str, Any]:
    """Play and attribute; return the figures that it tells. `options` are those of opening."""
    opened = hr.connect(home=home, **options) if on_ray else hr.open(home, **options)
    async with opened as hindsight:
        misled = await _memory(hindsight, MISLED)
        await misled.write(ADVICE, scope=f"agent:{MISLED}", type="fact")
        one = await played(hindsight, seed=11)
        tell(f"three agents played; outcome {one.outcome:+.2f}")
        judge = hindsight.operator("zoo")
        faults = hr.check_environment(one.environment, await judge.trajectory(one.run_id))
        tell(f"the environment keeps its word: {'yes' if not faults else '; '.join(faults)}")
        credit = await judge.attribute(
            one.run_id, method="shapley", environment=one.environment, policy="own"
        )
        for share in (*credit.credits, *credit.beside):
            span = f"{share.low:+.2f} to {share.high:+.2f}"
            tell(f"  {share.value:+.2f} ({span})  {share.method}: {share.target.label}")
        if credit.abstained is not None:
            tell(f"no credit: {credit.abstained.reason}")
    return {
        "outcome": one.outcome,
        "faults": list(faults),
        "credits": {share.target.label: share.value for share in credit.credits},
        "agents": {
            share.target.id: share.value
            for share in credit.beside
            if share.method.endswith("agents")
        },
        "memories": {
            share.target.label: share.effect
            for share in credit.beside
            if share.target.kind == "memory"
        },
    }


def slippery(slips: float) -> Game:
    """The same game on slippery ground: replays need seeds and repeats."""
    return replace(SPREAD, slips=slips)
