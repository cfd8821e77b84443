"""Batches recorded together are answered, kept and put on record as if each had come by itself."""

import asyncio
import random
import re
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from hindsight_ray.adapters.wrapping.grouped import GroupedLedger
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.event import Event
from hindsight_ray.domain.run import RecordAck, Run
from hindsight_ray.errors import HindsightError
from hindsight_ray.service.together import Together
from hindsight_ray.service.world import Recording
from tests.ledgers import BOTH, ledgers_of
from tests.ledgers import Server as Database
from tests.records import name_of
from tests.worlds import START, Staged, world

pytestmark = pytest.mark.covers("G3.commands", "G9.recording", "record.conflict", "record.order")

_AGENTS = tuple(f"a{n}" for n in range(7))
_ROUNDS = 10
Sent = tuple[str, c.RecordEvents]
Answer = RecordAck | tuple[str, str]


class _Team:
    """Agents with runs of their own and one that they share, at one home."""

    def __init__(self, home: Staged) -> None:
        self.home = home
        self.tokens: dict[str, str] = {}
        self.runs: dict[str, Run] = {}
        self.shared: Run

    async def begin(self) -> None:
        for agent in _AGENTS:
            tenant = "other" if agent == _AGENTS[-1] else "acme"
            token = await self.home.ticket(agent=agent, user="alice", tenant=tenant)
            self.tokens[agent] = token
            started = await self.home.ask(token, c.StartRun(command_id="run", goal=f"of {agent}"))
            assert isinstance(started, Run)
            self.runs[agent] = started
        self.shared = self.runs[_AGENTS[0]]
        for agent in _AGENTS[1:3]:
            await self.home.ask(self.tokens[agent], c.JoinRun(run_id=self.shared.run_id))

    def sent(self, plan: Sequence["_Planned"]) -> list[Sent]:
        return [one.of(self) for one in plan]

    async def kept(self) -> list[object]:
        """Every event, and every entry of the audit without its chain's order."""
        async with self.home.world.ledger.reading() as unit:
            kept: list[object] = []
            for run in self.runs.values():
                kept.append(await unit.runs.events(run.tenant, run.run_id))
                kept.append(list(await unit.runs.gaps(run.tenant, run.run_id)))
            for tenant in ("acme", "other"):
                entries = await unit.audit.newest(tenant, limit=10_000)
                kept.append(sorted(re.sub("ticket:[0-9a-f]+", "ticket", repr(e)) for e in entries))
        return kept


class _Planned:
    """A batch by what it is of, so that it can be sent to either home."""

    def __init__(self, token_of: str, run_of: str, agent: str, steps: Sequence[tuple[str, int]],
                 incarnation: str) -> None:  # fmt: skip
        self.token_of, self.run_of, self.agent = token_of, run_of, agent
        self.steps, self.incarnation = steps, incarnation

    def of(self, team: _Team) -> Sent:
        run = team.runs.get(self.run_of)
        run_id = name_of("nowhere") if run is None else run.run_id
        events = [
            Event.model_validate({
                "event_id": name_of(name), "run_id": run_id, "agent": self.agent,
                "incarnation": self.incarnation, "seq": seq, "timestamp": START,
                "kind": "decision", "summary": f"{self.agent} {name} {seq}",
            })
            for name, seq in self.steps
        ]  # fmt: skip
        return team.tokens[self.token_of], c.RecordEvents(run_id=run_id, events=tuple(events))


class _Plans:
    """Rounds of batches that come at once: nearly all as usual, some out of the ordinary."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._nexts: dict[tuple[str, str, str], int] = {}
        self._before: list[_Planned] = []
        self._made = 0

    def round(self) -> list[_Planned]:
        found: list[_Planned] = []
        for agent in self._chance.sample(_AGENTS, self._chance.randint(2, len(_AGENTS))):
            found.append(self._batch(agent))
            if self._chance.random() < 0.15:  # a second one of the same agent at once
                found.append(self._batch(agent))
        self._before += found
        return found

    def _batch(self, agent: str) -> _Planned:
        chance = self._chance
        mine = [one for one in self._before if one.token_of == one.agent == agent]
        kind = chance.choices(
            ("usual", "again", "partly again", "contradicting", "stranger", "nowhere", "another's",
             "empty", "far", "with holes"),
            (75, 2, 2, 2, 6, 4, 4, 3, 2, 10),
        )[0]  # fmt: skip
        run = _AGENTS[0] if agent in _AGENTS[1:3] and chance.random() < 0.5 else agent
        incarnation = chance.choice(("one", "one", "one", "two"))
        if kind in ("again", "partly again", "contradicting") and mine:
            before = chance.choice(mine)
            steps = list(before.steps)
            if kind == "partly again":
                steps += self._steps(agent, before.run_of, before.incarnation, 2)
            if kind == "contradicting" and steps:
                name, seq = steps[-1]
                steps[-1] = (f"{name}, otherwise", seq)
            return _Planned(agent, before.run_of, agent, steps, before.incarnation)
        if kind == "stranger":
            run = _AGENTS[3] if agent != _AGENTS[3] else _AGENTS[4]
        if kind == "nowhere":
            run = "nobody"
        steps = self._steps(agent, run, incarnation, 0 if kind == "empty" else chance.randint(1, 4))
        if kind == "with holes":
            steps = [one for one in steps if chance.random() < 0.6]
        if kind == "far" and steps:
            steps[-1] = (steps[-1][0], 1_000_000_000 + chance.choice((-1, 0, 1, 2)))
        named = _AGENTS[5] if kind == "another's" else agent
        return _Planned(agent, run, named, steps, incarnation)

    def _steps(self, agent: str, run: str, incarnation: str, count: int) -> list[tuple[str, int]]:
        first = self._nexts.get((agent, run, incarnation), 0)
        self._nexts[(agent, run, incarnation)] = first + count
        self._made += 1
        return [(f"{agent} {self._made} {seq}", seq) for seq in range(first, first + count)]


async def _asked(home: Staged, sent: Sent) -> Answer:
    try:
        ack = await home.ask(*sent)
    except HindsightError as error:
        return type(error).__name__, error.message
    assert isinstance(ack, RecordAck)
    return ack


class _Counting(Together[object, object]):
    """Counts for whom it went well together, so that no test looks at an idle one."""

    taken = 0

    async def done(self, one: object, do: object) -> object:
        found = await super().done(one, do)  # type: ignore[arg-type]
        self.taken += found is not None
        return found


async def _meanwhile(teams: Sequence[_Team], chance: random.Random) -> None:
    """Between two rounds a run may end and a ticket may be revoked, at all homes."""
    agent, ends, revoked, renewed = chance.choice(_AGENTS[3:]), *(chance.random() for _ in "123")
    for team in teams:
        run, home = team.runs[agent], team.home
        fresh = await home.ticket(agent=agent, user="alice", tenant=run.tenant)
        if ends < 0.2:
            await home.ask(fresh, c.CloseRun(run_id=run.run_id))
        if revoked < 0.2:
            caller = await home.world.tickets.verify(team.tokens[agent], START)
            async with home.world.ledger.writing() as unit:
                await unit.policy.revoke_ticket(caller.tenant, caller.ticket_id, START)
        elif renewed < 0.3:
            team.tokens[agent] = fresh
        for one in (_AGENTS[0], _AGENTS[-1]) * 2:  # what tenants keep is known: nobody reads it
            fresh = await home.ticket(agent=one, tenant=team.runs[one].tenant)
            await home.ask(fresh, c.WhoAmI())  # first, and comes into line behind the others


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", BOTH)
async def test_a_group_is_answered_and_kept_as_its_batches_one_by_one(
    tmp_path: Path, request: pytest.FixtureRequest, kind: str, seed: int
) -> None:
    chance = random.Random(seed)
    recording = _Counting()
    async with AsyncExitStack() as stack:
        together, plain = [
            _Team(await stack.enter_async_context(_home(tmp_path / name, request, kind, shared)))
            for name, shared in (("together", recording), ("plain", None))
        ]
        for team in (together, plain):
            await team.begin()
        plans = _Plans(chance)
        for _ in range(_ROUNDS):
            plan = plans.round()
            sent = together.sent(plan)
            answers = await asyncio.gather(*(_asked(together.home, one) for one in sent))
            expected = [await _asked(plain.home, one) for one in plain.sent(plan)]
            assert answers == expected
            for ours, theirs in zip(await together.kept(), await plain.kept(), strict=True):
                assert ours == theirs
            await _meanwhile((together, plain), chance)
    assert recording.taken >= _ROUNDS


def _home(path: Path, request: pytest.FixtureRequest, kind: str, recording: object):  # type: ignore[no-untyped-def]
    where = None if kind == "sqlite" else ledgers_of(request, kind).where
    assert where is None or isinstance(where, Database)
    shared: Recording | None = recording  # type: ignore[assignment]
    return world(path, wrap=GroupedLedger, database=where, recording=shared)
