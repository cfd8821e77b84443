"""A workshop of agents whose culprits are known by construction, and which can be replayed.

Decisions form a graph: each rests on the products of earlier ones, and the products of the last
ones are delivered. A faulty choice spoils the delivery or not as the case's rules say. Who decides
what, in which order, in which words and numbers, is drawn anew for every case, so a rule that looks
at position, at an agent's name or at alarming words has nothing to go by.
"""

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from hindsight_ray.core.attribution.environment import Restored, Script
from hindsight_ray.core.digest import derived_uuid, goal_digest
from hindsight_ray.domain.event import EdgeEvidence, Event, EventKind, MemoryRef, ToolCall
from hindsight_ray.domain.run import Outcome, Participant, Run, Trajectory

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
SOUND, OTHER, FAULTY = 0, 1, 2  # the choices of a decision: two that are fine, one that is not
_AGENTS = ("ada", "bo", "cleo", "dev", "eli", "fay", "gus", "hana")
_THINGS = (
    "gearbox", "ledger", "pump", "valve", "beacon", "crane", "kiln", "loom", "mill", "press",
    "sluice", "turbine", "anvil", "boiler", "chisel", "furnace",
)  # fmt: skip
_OPTIONS = ("amber", "cobalt", "ivory", "jade", "onyx", "pearl", "ruby", "slate", "topaz")
_FRAMES = ("Use {o} for {t}", "I will use {o} for the {t}", "We should use {o} for this {t}",
           "{t}: use {o}", "For the {t} use {o}")  # fmt: skip
_ODD = ("error budget checked", "failure unlikely", "wrong one ruled out", "quickly", "as agreed",
        "no exception needed", "carefully", "broken parts aside")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision of a plan: who makes it, about what, resting on which, with which options."""

    agent: str
    thing: str
    options: tuple[str, str, str]
    rests_on: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Rules:
    """What spoils the delivery: any single fault, any whole set of them, or chance alone."""

    single: frozenset[int] = frozenset()
    joint: tuple[frozenset[int], ...] = ()
    spoiled_anyway: bool = False
    chance: float = 0.0  # of a spoiled delivery whatever was decided

    def spoiled(self, choices: Mapping[int, int]) -> bool:
        """Whether these choices spoil it, chance apart."""
        faulty = {n for n, choice in choices.items() if choice == FAULTY}
        return (
            self.spoiled_anyway
            or bool(faulty & self.single)
            or any(group <= faulty for group in self.joint)
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """The decisions in order, and the rules of the delivery."""

    decisions: tuple[Decision, ...]
    rules: Rules
    ends: tuple[int, ...]  # whose products are delivered

    def ancestors(self) -> frozenset[int]:
        """The decisions whose products reach the delivery."""
        seen: set[int] = set()
        waiting = list(self.ends)
        while waiting:
            one = waiting.pop()
            if one not in seen:
                seen.add(one)
                waiting.extend(self.decisions[one].rests_on)
        return frozenset(seen)


@dataclass(frozen=True, slots=True)
class Workshop:
    """The environment of one recorded run. `errs` is how often a re-decided fault errs again."""

    plan: Plan
    choices: Mapping[str, int]  # by decision event, as recorded
    order: tuple[str, ...]  # decision events, as the plan counts them
    bad_memories: frozenset[str] = frozenset()  # whoever is offered one and uses it errs
    used: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    errs: float = 0.0
    work: int = 0  # rounds of hashing that a replay burns
    name: str = "workshop 1"

    @property
    def deterministic(self) -> bool:
        return self.errs == 0.0 and self.plan.rules.chance == 0.0

    def restore(self, prefix: Sequence[Event]) -> Restored:
        made = tuple(
            self.choices[event.event_id] for event in prefix if event.event_id in self.choices
        )
        return Restored(made, state_digest(made))

    def redecide(self, event: Event, policy: str) -> object:
        assert policy == "baseline", policy
        return f"{event.agent} decides afresh"

    def continue_(self, state: tuple[int, ...], seed: int, script: Script) -> float:
        choices = dict(enumerate(state))
        for n in range(len(state), len(self.order)):
            choices[n] = self._chosen(n, seed, script)
        if self.work:
            burn(self.work, seed)
        return delivered(self.plan.rules, [choices[n] for n in range(len(choices))], seed)

    def _chosen(self, n: int, seed: int, script: Script) -> int:
        event = self.order[n]
        recorded = self.choices[event]
        if event in script.redecided:
            erred = recorded == FAULTY and self._draw(event, seed) < self.errs
            return FAULTY if erred else SOUND
        if script.memory.changed(event):
            offered = {ref.id for ref, _ in script.memory.offered(event)}
            misled = [one for one in self.used.get(event, ()) if one in self.bad_memories]
            if misled and not offered.intersection(misled):
                return SOUND
        return recorded

    def _draw(self, what: str, seed: int) -> float:
        return random.Random(f"{what}/{seed}").random()


def delivered(rules: Rules, choices: Sequence[int], seed: int) -> float:
    """The outcome of these choices; chance strikes anew for every other set of choices."""
    spoiled = rules.spoiled(dict(enumerate(choices)))
    if rules.chance and not spoiled:
        spoiled = random.Random(f"delivery/{list(choices)}/{seed}").random() < rules.chance
    return -1.0 if spoiled else 1.0


def burn(rounds: int, seed: int) -> bytes:
    """Work for a processor: this many rounds of hashing."""
    found = str(seed).encode()
    for _ in range(rounds):
        found = hashlib.sha256(found * 8).digest()
    return found


def state_digest(made: Sequence[int]) -> str:
    return hashlib.sha256(repr(tuple(made)).encode()).hexdigest()[:16]


def drawn_plan(draw: random.Random, *, decisions: int, rules: Rules | None = None) -> Plan:
    """A plan of so many decisions, of which some lead nowhere."""
    agents = draw.sample(_AGENTS, draw.randint(3, 5))
    things = draw.sample(_THINGS, decisions)
    made: list[Decision] = []
    for n in range(decisions):
        rests_on = draw.sample(range(n), min(n, draw.choice((0, 1, 1, 2)))) if n else []
        options = draw.sample(_OPTIONS, 3)
        made.append(
            Decision(
                draw.choice(agents), things[n], (options[0], options[1], options[2]),
                tuple(sorted(rests_on)),
            )
        )  # fmt: skip
    feeding = {one for decision in made for one in decision.rests_on}
    loose = [n for n in range(decisions) if n not in feeding]
    ends = tuple(sorted(draw.sample(loose, max(1, len(loose) - draw.randint(0, 2)))))
    return Plan(tuple(made), rules or Rules(), ends)


@dataclass
class Telling:
    """How a run is recorded: what is seen of it, truly or not."""

    evidence: EdgeEvidence = "observed"
    missing_edges: float = 0.0
    false_edges: float = 0.0
    shown: float = 0.75  # how often a fault that matters leaves a failed call
    downstream: float = 0.2  # of those, how often only at a later decision
    flaky: float = 0.15  # how often a call of anybody fails and then works
    offers: Mapping[int, tuple[MemoryRef, ...]] = field(
        default_factory=dict[int, tuple[MemoryRef, ...]]
    )
    uses: Mapping[int, tuple[MemoryRef, ...]] = field(
        default_factory=dict[int, tuple[MemoryRef, ...]]
    )
    repaired: frozenset[int] = frozenset()  # faults that were mended at once


class _Record:
    """Events of one run, a second apart."""

    def __init__(self, run_id: str, draw: random.Random, telling: Telling) -> None:
        self.run_id = run_id
        self.events: list[Event] = []
        self.draw = draw
        self.telling = telling
        self._numbers: dict[str, int] = {}

    def add(
        self,
        agent: str,
        kind: EventKind,
        summary: str,
        causes: Sequence[str] = (),
        **more: object,
    ) -> str:
        seq = self._numbers.get(agent, 0)
        self._numbers[agent] = seq + 1
        event = Event.model_validate(
            {
                "event_id": derived_uuid(self.run_id, len(self.events)),
                "run_id": self.run_id,
                "agent": agent,
                "incarnation": "one",
                "seq": seq,
                "timestamp": START + timedelta(seconds=len(self.events)),
                "kind": kind,
                "summary": summary,
                "causes": self._edges(causes),
                "edge_evidence": self.telling.evidence,
                **more,
            }
        )
        self.events.append(event)
        return event.event_id

    def call(
        self, agent: str, tool: str, causes: Sequence[str], *, failed: bool, about: int
    ) -> str:
        call = ToolCall(
            name=tool,
            arguments_digest=hashlib.sha256(f"{tool}{about}".encode()).hexdigest(),
            status="error" if failed else "ok",
            error_text="refused" if failed else "",
        )
        shown = f"{tool} {self.draw.randint(1, 99)} parts, {self.draw.choice(_ODD)}"
        return self.add(agent, "tool", shown, causes, tool=call)

    def _edges(self, causes: Sequence[str]) -> tuple[str, ...]:
        kept = [one for one in causes if self.draw.random() >= self.telling.missing_edges]
        if self.events and self.draw.random() < self.telling.false_edges:
            kept.append(self.draw.choice(self.events).event_id)
        return tuple(dict.fromkeys(kept))


def recorded(
    plan: Plan, choices: Sequence[int], draw: random.Random, telling: Telling, *, seed: int = 7
) -> tuple[Trajectory, tuple[str, ...], float]:
    """A run of this plan with these choices: its record, its decisions' events, its outcome."""
    run_id = derived_uuid("workshop run", draw.getrandbits(64))
    record = _Record(run_id, draw, telling)
    products: dict[int, str] = {}
    fed = {one for decision in plan.decisions for one in decision.rests_on}
    order: list[str] = []
    visible = _visible(plan, choices, draw, telling)
    for n, decision in enumerate(plan.decisions):
        record.add(
            decision.agent, "state", f"at the {decision.thing}",
            state_digest=state_digest(choices[:n]),
        )  # fmt: skip
        causes = [products[one] for one in decision.rests_on]
        made = record.add(
            decision.agent, "decision", _worded(decision, choices[n], draw), causes,
            offered=telling.offers.get(n, ()), used=telling.uses.get(n, ()),
        )  # fmt: skip
        order.append(made)
        products[n] = _produce(record, decision, made, n, visible=n in visible)
        if n not in fed and n not in plan.ends:  # looked at, then left lying
            record.add(decision.agent, "llm", f"the {decision.thing} is spare", [products[n]])
    record.add(
        draw.choice(plan.decisions).agent, "tool", f"deliver {draw.randint(1, 99)} crates",
        [products[end] for end in plan.ends], tool=ToolCall(name="deliver"),
    )  # fmt: skip
    value = delivered(plan.rules, choices, seed)
    return _trajectory(run_id, plan, record.events, value, seed), tuple(order), value


def _visible(
    plan: Plan, choices: Sequence[int], draw: random.Random, telling: Telling
) -> frozenset[int]:
    """At which decisions a call fails for good: at a fault that matters, or only after it."""
    matter = plan.rules.single | frozenset(one for group in plan.rules.joint for one in group)
    found: set[int] = set()
    for n, choice in enumerate(choices):
        if choice != FAULTY or n not in matter or draw.random() >= telling.shown:
            continue
        later = [m for m, other in enumerate(plan.decisions) if n in other.rests_on]
        found.add(draw.choice(later) if later and draw.random() < telling.downstream else n)
    return frozenset(found)


def _produce(record: _Record, decision: Decision, made: str, n: int, *, visible: bool) -> str:
    """The calls that carry a decision out: some fail and are mended, some fail for good."""
    tool = f"make.{decision.thing}"
    last = [made]
    if n in record.telling.repaired or record.draw.random() < record.telling.flaky:
        failure = record.call(decision.agent, tool, last, failed=True, about=n)
        last = [made, failure]
    product = record.call(decision.agent, tool, last, failed=False, about=n)
    tested = record.call(
        decision.agent, f"test.{decision.thing}", [product], failed=visible, about=n
    )
    return product if visible else tested


def _worded(decision: Decision, choice: int, draw: random.Random) -> str:
    text = draw.choice(_FRAMES).format(o=decision.options[choice], t=decision.thing)
    if draw.random() < 0.1:
        text += f", {draw.choice(_ODD)}"
    return text


def _trajectory(
    run_id: str, plan: Plan, events: Sequence[Event], value: float, seed: int
) -> Trajectory:
    goal = "fill the order"
    run = Run.model_validate(
        {
            "run_id": run_id,
            "tenant": "acme",
            "scope": "user:alice",
            "audience": ("user:alice",),
            "goal": goal,
            "task_type": "workshop",
            "goal_digest": goal_digest(goal),
            "seed": seed,
            "participants": tuple(
                Participant.model_validate({"agent": agent, "user": "alice"})
                for agent in dict.fromkeys(decision.agent for decision in plan.decisions)
            ),
            "started_at": START,
        }
    )
    outcome = Outcome(
        outcome_id=derived_uuid("workshop outcome", run_id),
        run_id=run.run_id,
        value=value,
        success=value > 0,
        evaluator="customer",
        by="agent:customer",
        participant=False,
        evaluates=True,
        at=START + timedelta(hours=1),
    )
    return Trajectory(run=run, events=tuple(events), outcomes=(outcome,))
