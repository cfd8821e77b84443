"""The story told: two sessions with one user, two other users, a curator, another tenant."""

import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import hindsight_ray as hr
from examples.ops_team.team import Incident, ShopFloor, Teammate

AGENTS = ("planner", "investigator", "executor")
Tell = Callable[[str], None]


@dataclass
class Stage:
    """What every scene of the story needs."""

    hindsight: hr.Hindsight
    team: dict[str, Any]
    tell: Tell

    async def incident(self, tenant: str, user: str, *, seed: int, session: str) -> Incident:
        """One run of the whole team for one user, scored afterwards by the monitor."""
        tickets: dict[str, str] = {}
        for agent in AGENTS:
            ticket = await self.hindsight.issue_ticket(
                tenant=tenant, agent=agent, user=user, session=session
            )
            tickets[agent] = ticket.token
        floor = ShopFloor.remote(seed)
        done: Incident = await self.team["planner"].lead.remote(tickets, self.team, floor, seed)
        monitor = await self.caller(tenant, agent="evaluator")
        await monitor.outcome(done.run_id, done.outcome, evaluator="shop monitor")
        self.tell(
            f"    recovered after {done.minutes} minutes, {done.failed_calls} failed calls,"
            f" {done.orders_lost} orders lost; outcome {done.outcome:+.2f};"
            f" decisions rested on {done.recalled} memories"
        )
        return done

    async def caller(self, tenant: str, **who: str) -> hr.Memory:
        return self.hindsight.as_caller(await self.hindsight.issue_ticket(tenant=tenant, **who))


async def story(tell: Tell, *, promoting: bool = True) -> dict[str, Any]:
    """Play all scenes on a deployment of its own; return the figures.

    Without `promoting` nobody makes anything global, and nothing else differs.
    """
    with tempfile.TemporaryDirectory(prefix="hindsight-demo-") as folder:
        tell("Starting a local Ray and the memory's actors (about 20 seconds) …")
        async with hr.connect(home=Path(folder) / "home") as hindsight:
            team = {name: Teammate.remote() for name in AGENTS}
            return await _scenes(Stage(hindsight, team, tell), promoting=promoting)


async def _scenes(stage: Stage, *, promoting: bool) -> dict[str, Any]:
    tell = stage.tell
    tell("\n1. Tenant acme, user alice. The checkout is down; the team has never seen this.")
    first = await stage.incident("acme", "alice", seed=1, session="s1")
    await _recorded(stage, "acme", "alice", first.run_id)
    lessons = await _review(stage, "acme", "alice", first.run_id)

    tell("\n2. Same user, a new session, another faulty release. The team recalls.")
    second = await stage.incident("acme", "alice", seed=2, session="s2")

    tell("\n3. The same agents for bob. What they learned with alice is not theirs to use here.")
    stranger = await stage.incident("acme", "bob", seed=3, session="s3")
    refusal = await _refused(stage, lessons[0])

    tell("\n4. The curator reads what was learned and makes it global in acme, on record.")
    promoted = await _promote(stage, lessons if promoting else [])
    tell("    The first incident of carol, who has no memories of her own, as bob had none:")
    served = await stage.incident("acme", "carol", seed=4, session="s4")

    tell("\n5. Tenant globex has a team of the same names. Nothing of acme reaches it.")
    elsewhere = await stage.incident("globex", "dave", seed=5, session="s5")

    tell("\n6. Who earned the outcome of the second session?")
    earned = await _credit(stage, "acme", "alice", second.run_id)

    incidents = {
        "alice_first": first,
        "alice_second": second,
        "bob_before_promotion": stranger,
        "carol_first": served,
        "globex": elsewhere,
    }
    improvement = _improvement(first, second)
    tell(
        f"\nIn its second session the team was {improvement['minutes_saved']} minutes faster"
        f" ({improvement['minutes_saved_share']:.0%}) and lost"
        f" {improvement['orders_saved']} orders fewer."
    )
    return {
        "incidents": {name: asdict(incident) for name, incident in incidents.items()},
        "improvement": improvement,
        "lessons": len(lessons),
        "promoted": promoted,
        "refusal": refusal,
        "credits": earned,
    }


def _improvement(first: Incident, second: Incident) -> dict[str, float]:
    saved = first.minutes - second.minutes
    return {
        "minutes_saved": saved,
        "minutes_saved_share": saved / first.minutes,
        "failed_calls_spared": first.failed_calls - second.failed_calls,
        "orders_saved": first.orders_lost - second.orders_lost,
        "outcome_gain": round(second.outcome - first.outcome, 4),
    }


async def _recorded(stage: Stage, tenant: str, user: str, run_id: str) -> None:
    memory = await stage.caller(tenant, agent="planner", user=user)
    events = (await memory.trajectory(run_id)).events
    kinds = Counter(event.kind for event in events)
    listed = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    stage.tell(f"    recorded: {len(events)} events ({listed}); the tool calls among them:")
    for event in events:
        if event.tool is not None:
            mark = "ok  " if event.tool.status == "ok" else "FAIL"
            stage.tell(f"      {mark} {event.agent}: {event.summary}")


async def _review(stage: Stage, tenant: str, user: str, run_id: str) -> list[str]:
    memory = await stage.caller(tenant, agent="curator", user=user)
    report = await memory.review(run_id)
    kept = [await memory.get(memory_id) for memory_id in report.stored]
    found = [one for one in kept if one.type == "experience"]
    beside = len(kept) - len(found)
    stage.tell(
        f"    review: {report.claims} claims, {len(kept)} memories kept;"
        f" {beside} tell what happened, {len(found)} what to do:"
    )
    for one in found:
        stage.tell(f"      [{one.scope}] {one.content}")
    return [one.id for one in found]


async def _refused(stage: Stage, memory_id: str) -> dict[str, Any]:
    """An agent that works for bob asks for a memory made with alice, by its very id."""
    executor = await stage.caller("acme", agent="executor", user="bob", session="s3")
    try:
        await executor.get(memory_id)
    except hr.NotFound as refusal:
        said = str(refusal)
    else:
        raise AssertionError("a memory made with alice was read for bob")
    answer = await stage.hindsight.operator("acme").why(
        "read", memory_id, agent="executor", user="bob"
    )
    ground = next(one for one in answer.decisions if not one.allowed)
    stage.tell(f"    executor, for bob, asks for {memory_id}: {said}")
    stage.tell(
        f"    why (told to the operator only): `read` on `{ground.object}`: {ground.reason};"
        f" rule: {ground.rule or 'none, so the default holds: deny'};"
        f" policy revision {answer.revision}"
    )
    return {"memory": memory_id, "said": said, "why": answer.model_dump(mode="json")}


async def _promote(stage: Stage, lessons: list[str]) -> int:
    curator = await stage.caller("acme", agent="curator")
    receipts = [await curator.promote(memory_id, scope="global") for memory_id in lessons]
    made = {id_ for receipt in receipts for id_ in receipt.ids}
    stage.tell(f"    {len(made)} lessons promoted")
    return len(made)


async def _credit(stage: Stage, tenant: str, user: str, run_id: str) -> list[dict[str, Any]]:
    memory = await stage.caller(tenant, agent="planner", user=user)
    found = await memory.attribute(run_id)
    if found.abstained is not None:
        stage.tell(f"    no credit: {found.abstained.reason}")
    for credit in found.credits:
        stage.tell(f"    {credit.value:+.3f}  {credit.target.label}")
    if found.coverage is not None:
        stage.tell(
            f"    ({found.method}, {len(found.credits)} decisions;"
            f" {found.coverage.in_slice} of {found.coverage.events} events led to the outcome)"
        )
    return [credit.model_dump(mode="json") for credit in found.credits]
