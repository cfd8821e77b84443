"""What is planted, and what a stranger could know of it: ids and words, but never the secrets."""

import random
import string
import uuid
from dataclasses import dataclass, field

from hindsight_ray.client.hindsight import Hindsight
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.caller import Ticket
from hindsight_ray.domain.event import Event, MemoryRef
from hindsight_ray.domain.ids import checked_uuid
from hindsight_ray.domain.run import WorkingState

_DRAW = random.SystemRandom()


def word() -> str:
    """A word that occurs nowhere else, and looks like none of a key or a number."""
    return "".join(_DRAW.choice(string.ascii_lowercase) for _ in range(14))


@dataclass(frozen=True, slots=True)
class Names:
    """Principals that no policy names: only what it says of everybody concerns them."""

    suffix: str = field(default_factory=lambda: word()[:8])

    @property
    def agent(self) -> str:
        return f"keeper-{self.suffix}"

    @property
    def user(self) -> str:
        return f"alice-{self.suffix}"

    @property
    def other_agent(self) -> str:
        return f"snoop-{self.suffix}"

    @property
    def other_user(self) -> str:
        return f"mallory-{self.suffix}"


@dataclass(frozen=True, slots=True)
class Facts:
    """What a stranger may send: whose it is, which ids it has, which words it begins with."""

    tenant: str
    names: Names
    memory_id: str
    own_memory_id: str
    run_id: str
    event_id: str
    ticket_id: str
    session: str
    trigger: str

    @property
    def scope(self) -> str:
        return f"user:{self.names.user}"

    @property
    def agent_scope(self) -> str:
        return f"agent:{self.names.agent}"


@dataclass(frozen=True, slots=True)
class Planted:
    """The facts, and what nobody else may ever see. Secrets are never part of a command."""

    facts: Facts
    secrets: tuple[str, ...]
    owner: Ticket

    @property
    def ids(self) -> tuple[str, ...]:
        facts = self.facts
        return (facts.memory_id, facts.own_memory_id, facts.run_id, facts.event_id)


async def plant(hindsight: Hindsight, tenant: str, names: Names) -> Planted:
    """Fill a tenant with one owner's secrets: memories, a run, events, working state, a window."""
    session, trigger = word(), word()
    secrets = tuple(word() for _ in range(9))
    owner = await hindsight.issue_ticket(
        tenant=tenant, agent=names.agent, user=names.user, session=session
    )
    memory = hindsight.as_caller(owner)
    first = await memory.write(
        f"The {trigger} depot opens with the word {secrets[0]}", scope=f"user:{names.user}",
        topic=secrets[1], tags=[secrets[2]], labels=[secrets[3]], confidence=0.9,
    )  # fmt: skip
    second = await memory.write(
        f"The {trigger} ladder stands behind door {secrets[4]}", scope=f"agent:{names.agent}",
        confidence=0.9,
    )  # fmt: skip
    run = await memory.run(f"Fetch the {trigger} crate for {secrets[5]}", task_type="fetch")
    used = [MemoryRef(id=first.ids[0], revision=1)]
    event_id = run.decide(f"Take the {trigger} stairs to {secrets[6]}", used=used)
    await run.flush()
    await memory.ask(
        c.SetWorking(
            run_id=checked_uuid(run.id),  # type: ignore[arg-type]
            state=WorkingState(goal=f"{trigger} {secrets[7]}"),
        )
    )
    await memory.outcome(run.id, 1.0)
    await memory.note(f"said of the {trigger}: {secrets[8]}")
    facts = Facts(
        tenant, names, first.ids[0], second.ids[0], run.id, event_id, owner.caller.ticket_id,
        session, trigger,
    )  # fmt: skip
    return Planted(facts, secrets, owner)


def absent(tenant: str, like: Facts) -> Facts:
    """Facts of the same words and names about nothing."""
    made = [str(uuid.uuid4()) for _ in range(4)]
    return Facts(
        tenant, like.names, *made, ticket_id=uuid.uuid4().hex, session=like.session,
        trigger=like.trigger,
    )  # fmt: skip


def event_of(facts: Facts, agent: str) -> Event:
    """An event that somebody else tries to slip into the run."""
    fields = {
        "event_id": str(uuid.uuid4()), "run_id": facts.run_id, "agent": agent,
        "incarnation": "intruder", "seq": 0, "timestamp": "2026-01-01T00:00:00+00:00",
        "kind": "decision", "summary": "intrude", "causes": [facts.event_id],
        "used": [{"id": facts.memory_id, "revision": 1}],
    }  # fmt: skip
    return Event.model_validate(fields)
