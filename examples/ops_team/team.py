"""The team at work: each agent an actor with its own ticket, all recording into one run."""

from dataclasses import dataclass

import ray

import hindsight_ray as hr
from examples.ops_team.shop import Call, Reply, Shop
from examples.ops_team.skills import (
    CONFIRM,
    FIND_CAUSE,
    FRESH_PRICES,
    REMOVE_RELEASE,
    TOOLS,
    Skill,
    by_advice,
)

TASK_TYPE = "operate"


@dataclass(frozen=True)
class Incident:
    """What one incident came to, counted from the shop's own state."""

    run_id: str
    minutes: int
    failed_calls: int
    orders_lost: int
    outcome: float
    recalled: int  # pieces of advice that decisions rested on


@dataclass(frozen=True)
class Done:
    """A skill carried out: the event that reports it, and how many memories it rested on."""

    event: str
    text: str
    recalled: int


@ray.remote(num_cpus=0)
class ShopFloor:
    """The one shop that all agents of an incident touch."""

    def __init__(self, seed: int) -> None:
        self._shop = Shop(seed)

    def call(self, call: Call) -> Reply:
        return self._shop.call(call)

    def release(self) -> int:
        return self._shop.release

    def figures(self) -> tuple[int, int, int, float]:
        shop = self._shop
        return shop.minutes, shop.failed_calls, shop.orders_lost, shop.outcome


@ray.remote(num_cpus=0)
class Teammate:
    """One agent. It recalls before it acts, and records every step it takes."""

    def __init__(self) -> None:
        self._hindsight: hr.Hindsight | None = None

    async def help(
        self, ticket: str, run_id: str, asked: str, skill: Skill, floor: ShopFloor
    ) -> Done:
        """Join the run, do one skill, report to the planner."""
        memory = await self._memory(ticket)
        async with memory.join(run_id) as run:
            done = await work(memory, run, skill, floor, asked)
            report = run.message(to="planner", text=done.text, causes=[done.event])
        return Done(report, done.text, done.recalled)

    async def lead(
        self, tickets: dict[str, str], team: dict[str, "Teammate"], floor: ShopFloor, seed: int
    ) -> Incident:
        """Run the incident: hand out the pieces, confirm the result, say how it went."""
        memory = await self._memory(tickets["planner"])
        recalled = 0
        async with memory.run(
            goal="Restore the checkout", task_type=TASK_TYPE, tools=TOOLS, seed=seed
        ) as run:
            told = run.user("Customers cannot buy. Please restore the checkout.")
            for skill in (FIND_CAUSE, REMOVE_RELEASE, FRESH_PRICES):
                choice = run.decide(f"Ask {skill.agent} to {skill.task}", causes=[told])
                asked = run.message(to=skill.agent, text=skill.task, causes=[choice])
                await run.flush()
                done = await team[skill.agent].help.remote(
                    tickets[skill.agent], run.id, asked, skill, floor
                )
                told, recalled = done.event, recalled + done.recalled
            done = await work(memory, run, CONFIRM, floor, told)
            recalled += done.recalled
            minutes, failed, lost, outcome = await floor.figures.remote()
            run.outcome(outcome, evaluator="the planner's own view")
        return Incident(run.id, minutes, failed, lost, outcome, recalled)

    async def _memory(self, ticket: str) -> hr.Memory:
        if self._hindsight is None:
            self._hindsight = await hr.connect()
        return self._hindsight.as_caller(ticket)


async def work(
    memory: hr.Memory, run: hr.RunRecorder, skill: Skill, floor: ShopFloor, asked: str
) -> Done:
    """Recall, decide, try; decide again after each failure."""
    found = await memory.search(
        f"how to {skill.task}",
        types=("experience",),
        task_type=TASK_TYPE,
        tools=skill.tools,
        run=run,
    )
    release = await floor.release.remote()
    own_order = list(skill.options(release))
    options = by_advice(own_order, [hit.memory.content for hit in found.hits])
    used = found.ids if options != own_order else ()
    cause = asked
    for option in options:
        why = "as memory advises" if used else "as usual"
        choice = run.decide(f"Try {option} to {skill.task}, {why}", used=used, causes=[cause])
        reply = await floor.call.remote(option)
        cause = run.tool(
            option.tool,
            arguments=option.arguments,
            result=reply.text if reply.ok else None,
            error=None if reply.ok else f"{reply.error}: {reply.text}",
            summary=f"{option} → {reply.text}",
            causes=[choice],
            edge_evidence="observed",
        )
        if reply.ok:
            return Done(cause, reply.text, len(used))
    return Done(cause, f"could not {skill.task}", len(used))
