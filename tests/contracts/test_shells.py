"""The actors' classes, built plainly over a real home: what they add to the door without Ray."""

import asyncio
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hindsight_ray.actors.authority import Authority
from hindsight_ray.actors.broker import Broker
from hindsight_ray.actors.plan import Plan
from hindsight_ray.actors.recorder_host import UNPACKED_BYTES_MAX, RecorderHost
from hindsight_ray.actors.wire import packed_events
from hindsight_ray.adapters.home import Home
from hindsight_ray.adapters.wrapping.grouped import GroupedLedger
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.event import Event
from hindsight_ray.domain.text import SUMMARY_CHARACTERS_MAX
from hindsight_ray.errors import AccessDenied, HomeInUse, InvalidInput, Unavailable
from hindsight_ray.ports import Ledger, Unit
from hindsight_ray.service.world import Opened
from tests.worlds import START, Staged, world

AGENTS = 20


async def _opened(staged: Staged, *, grouped: bool = False) -> Opened:
    """The staged world as a factory gives it; closing it is the test's own business."""
    held = staged.world
    if grouped:
        fields = {name: getattr(held, name) for name in held.__dataclass_fields__}
        held = type(held)(**{**fields, "ledger": GroupedLedger(held.ledger)})

    async def close() -> None:
        await staged.jobs.finish()

    return Opened(held, close)


def _event(run_id: str, agent: str, seq: int, event_id: str) -> Event:
    fields: dict[str, Any] = {
        "event_id": event_id, "run_id": run_id, "agent": agent, "incarnation": "one", "seq": seq,
        "timestamp": START, "kind": "decision", "summary": f"{agent} decides {seq}",
    }  # fmt: skip
    return Event.model_validate(fields)


async def test_batches_that_come_at_once_are_each_kept_whole_or_refused_alone(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as staged:
        host = RecorderHost(partial(_opened, staged, grouped=True))
        tokens = [await staged.ticket(agent=f"a{i}", user="u") for i in range(AGENTS)]
        runs = [
            await staged.ask(token, c.StartRun(command_id="run", goal="count")) for token in tokens
        ]
        batches = [
            c.RecordEvents(
                run_id=run.run_id,
                events=tuple(
                    # the last agent speaks for another one, which is refused
                    _event(run.run_id, f"a{min(i, AGENTS - 2)}", seq, staged.world.ids.event_id())
                    for seq in range(5)
                ),
            )
            for i, run in enumerate(runs)
        ]
        sent = [host.record(t, packed_events(b)) for t, b in zip(tokens, batches, strict=True)]
        done = await asyncio.gather(*sent, return_exceptions=True)
        assert isinstance(done.pop(), AccessDenied)
        assert {ack.stored for ack in done} == {5}
        for token, run, batch in zip(tokens, runs, batches, strict=True):
            kept = await staged.ask(token, c.ReadRun(run_id=run.run_id))
            assert kept.events == (() if token == tokens[-1] else batch.events)
        again = await host.record(tokens[0], packed_events(batches[0]))
        assert (again.stored, again.repeated) == (0, 5)
        await host.drain()


class _Counting(GroupedLedger):
    """A grouped ledger that knows how many writers it has ever had at once."""

    def __init__(self, inner: Ledger) -> None:
        super().__init__(inner)
        self.most = 0

    def writing(self) -> AbstractAsyncContextManager[Unit]:
        self.most = max(self.most, self.waiting + 1)
        return super().writing()


@pytest.mark.covers("G9.recording")
async def test_a_host_takes_apart_no_more_at_once_than_its_limit_and_keeps_all(
    tmp_path: Path,
) -> None:
    async with world(tmp_path, wrap=_Counting) as staged:
        host = RecorderHost(partial(_opened, staged))
        tokens = [await staged.ticket(agent=f"a{i}", user="u") for i in range(AGENTS)]
        batches: list[bytes] = []
        for i, token in enumerate(tokens):
            run = await staged.ask(token, c.StartRun(command_id="run", goal="count"))
            events = [
                _event(run.run_id, f"a{i}", seq, staged.world.ids.event_id()).model_copy(
                    update={"summary": f"{seq} ".ljust(SUMMARY_CHARACTERS_MAX, "x")}
                )
                for seq in range(140)
            ]
            batches.append(packed_events(c.RecordEvents(run_id=run.run_id, events=tuple(events))))
        acks = await asyncio.gather(
            *(host.record(t, batch) for t, batch in zip(tokens, batches, strict=True))
        )
        assert {ack.stored for ack in acks} == {140}
        ledger = staged.world.ledger
        assert isinstance(ledger, _Counting)
        assert 1 < ledger.most <= UNPACKED_BYTES_MAX // len(batches[0]) < AGENTS
        await host.drain()


async def test_a_batch_that_is_no_batch_is_refused_by_name(tmp_path: Path) -> None:
    async with world(tmp_path) as staged:
        host = RecorderHost(partial(_opened, staged))
        for batch in (b"", b"{", b'{"run_id": 1}', b'{"events": []}', b"\xff\x00"):
            with pytest.raises(InvalidInput, match="batch"):
                await host.record("token", batch)


async def test_a_drained_process_refuses_what_comes_after(tmp_path: Path) -> None:
    async with world(tmp_path) as staged:
        broker = Broker(partial(_opened, staged))
        token = await staged.ticket(agent="planner")
        assert (await broker.call(token, c.WhoAmI())).agent == "planner"
        await broker.drain()
        with pytest.raises(Unavailable, match="stopping"):
            await broker.call(token, c.WhoAmI())


async def test_the_authority_takes_the_home_sees_to_its_crew_and_lets_go(
    tmp_path: Path,
) -> None:
    started: list[Plan] = []
    async with world(tmp_path / "home") as staged:
        factory = partial(_opened, staged)
        plan = Plan(
            home=str(tmp_path / "home"), address="127.0.0.1:1", node_id="node",
            settings=staged.world.settings,
            seize=lambda: Home.deployed(tmp_path / "home", "127.0.0.1:1").release,
            authority_world=factory, broker_world=factory, recorder_world=factory,
            embedder=factory,  # type: ignore[arg-type]  # never asked for here
        )  # fmt: skip

        async def start(given: Plan) -> None:
            started.append(given)

        authority = Authority(plan, start)
        first, second = await asyncio.gather(authority.bring_up(), authority.bring_up())
        assert first == second
        assert started == [plan, plan]  # whenever it is asked for: some may be missing
        with pytest.raises(HomeInUse, match="used by a deployment"):
            Home.embedded(tmp_path / "home")
        await authority.drain()
        Home.embedded(tmp_path / "home").release()


async def test_an_authority_whose_home_is_open_elsewhere_answers_nothing_until_it_is_free(
    tmp_path: Path,
) -> None:
    async with world(tmp_path / "home") as staged:
        factory = partial(_opened, staged)
        other = Home.embedded(tmp_path / "home")
        plan = Plan(
            home=str(tmp_path / "home"), address="127.0.0.1:1", node_id="node",
            settings=staged.world.settings,
            seize=lambda: Home.deployed(tmp_path / "home", "127.0.0.1:1").release,
            authority_world=factory, broker_world=factory, recorder_world=factory,
            embedder=factory,  # type: ignore[arg-type]  # never asked for here
        )  # fmt: skip

        async def start(_plan: Plan) -> None:
            """Nobody else is needed."""

        authority = Authority(plan, start)
        with pytest.raises(HomeInUse, match="embedded process"):
            await authority.bring_up()
        other.release()
        assert (await authority.bring_up()).home == plan.home
        await authority.drain()
