"""Seeded histories on real worlds, step by step beside the model.

One home, two worlds over it (two processes' caches), callers of two tenants. A step is one call, a
handful of calls whose port calls a scheduler interleaves, a crash in the middle of them, or time
passing. After each, everybody of the tenant is asked what they see.
"""

import asyncio
import json
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, cast, get_args
from uuid import UUID

import numpy as np

from hindsight_ray.adapters.ledger.sql.server import Server
from hindsight_ray.adapters.models.hashed import DIMENSION, HashedEmbedder
from hindsight_ray.adapters.policy.profiles import shipped_text
from hindsight_ray.adapters.stores.embedded import EmbeddedStore
from hindsight_ray.core.audience import audience_key, filed_audience
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.base import build
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.memory import Memory, Status
from hindsight_ray.domain.rows import RowFilter
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import HindsightError, InvalidTicket
from hindsight_ray.ports import Erasing, Ledger, MemoryStore, Unit
from hindsight_ray.service import door
from hindsight_ray.service.admit import admit, row_filter
from hindsight_ray.service.seen import shows
from hindsight_ray.service.world import World
from tests.simulation.asked import Asked, Receipts
from tests.simulation.model import Kept, Model, Who
from tests.simulation.parked import (
    CURRENT,
    ParkedEmbedder,
    ParkedErasing,
    ParkedLedger,
    ParkedStore,
    Schedule,
    without_threads,
)
from tests.worlds import START, SetClock, Staged, world

POLICY = (
    shipped_text("default.csv")
    + """
p, role:team, acme, agent:scribe, read, allow
p, role:team, acme, agent:scribe, review, allow
g, role:junior, role:team, acme
g, agent:helper, role:junior, acme
p, agent:planner, *, global, write, allow
p, agent:writer, acme, global, write, allow
p, agent:writer, acme, user:alice, write, allow
p, agent:writer, acme, global, read, deny
p, agent:helper, *, label:secret, read, deny
p, user:bob, *, label:private, read, deny
p, agent:planner, globex, user:bob, read, deny
p, role:curator, *, user:alice, promote, allow
p, role:curator, acme, agent:scribe, review, allow
"""
)

TENANTS = ("acme", "globex")
# What an operator puts in force in its place: rules gone, others there, and roles of others.
POLICIES = (
    POLICY,
    POLICY + "p, role:team, acme, user:alice, read, allow\np, user:bob, *, global, read, deny\n",
    POLICY.replace("g, agent:helper, role:junior, acme\n", "g, agent:scribe, role:team, globex\n"),
    POLICY.replace("p, role:curator, *, user:alice, promote, allow\n", "")
    + "p, role:agent, globex, label:private, read, deny\n"
    + "p, agent:helper, *, user:bob, share, allow\n",
)

# Tenant, agent, user and session of everybody who asks.
CAST: tuple[tuple[str, str | None, str | None, str | None], ...] = (
    ("acme", None, "alice", None),
    ("acme", None, "bob", "s1"),
    ("acme", "planner", "alice", "s1"),
    ("acme", "planner", "bob", "s1"),
    ("acme", "planner", None, None),
    ("acme", "helper", None, "s2"),
    ("acme", "helper", "bob", None),
    ("acme", "scribe", "alice", "s1"),
    ("acme", "writer", None, None),
    ("acme", "curator", None, None),
    ("acme", "operator", None, None),
    ("globex", None, "alice", None),
    ("globex", "planner", "alice", "s1"),
    ("globex", "planner", "bob", "s1"),
    ("globex", "helper", "alice", None),
    ("globex", "curator", None, None),
)
SCOPES = ("global", "user:alice", "user:bob", "agent:planner", "agent:helper", "agent:scribe")
PROJECTS = ("atlas", "borealis")
SUBJECTS = ("agent:planner", "agent:helper", "agent:scribe", "user:alice", "user:bob", "role:team")
LETTERS = "bcdfghjklmnpqrstvwxz"
STATUSES: tuple[Status, ...] = get_args(Status)
_EVENTS_NEVER_REACHED = 10_000
FILTER_EVERY = 8  # steps; after the others every row is looked at, and the store is not asked
_ALL = 1_000  # more than a history has memories
_ANY_VECTOR = np.ones(DIMENSION, dtype=np.float32)


@dataclass
class Slot:
    """One of the cast, with the ticket it holds by now."""

    part: tuple[str, str | None, str | None, str | None]
    who: Who
    token: str
    caller: Caller


@dataclass(frozen=True)
class Servers:
    """Where the rows of a history lie, and who makes its stores, if not in a folder."""

    database: Server
    store: Callable[[], MemoryStore]


class History:
    """One seed's worlds and model. `await begin()`, then `await step()` as often as wanted."""

    def __init__(self, seed: int, folder: Path, servers: Servers | None = None) -> None:
        self.random = Random(seed)
        self.schedule = Schedule(self.random)
        self.clock = SetClock()
        self.model = Model(POLICY)
        self.receipts: Receipts = {}
        self.slots: list[Slot] = []
        self.worlds: list[World] = []
        self.staged: list[Staged] = []
        self.asked_before: list[tuple[Slot, c.Command]] = []
        self.jobs: set[asyncio.Task[None]] = set()
        self.counts: dict[str, int] = {}
        self._folder = folder
        self._servers = servers
        self._stack = AsyncExitStack()
        self._made = 0
        self._steps = 0
        self._words = ["".join(self.random.choices(LETTERS, k=6)) for _ in range(60)]
        self._texts = [" ".join(self.random.sample(self._words, 4)) for _ in range(18)]

    async def begin(self) -> None:
        await self._open(POLICY)
        for part in CAST:
            self.slots.append(await self._slot(part))

    async def end(self) -> None:
        await self._quiet()
        await self._stack.aclose()

    async def step(self) -> None:
        """One step, then what everybody sees is compared. Raises `AssertionError`."""
        random = self.random
        kind = random.choices(
            ("one", "several", "crash", "time", "ticket", "operator"),
            weights=(58, 22, 3, 9, 6, 2),
        )[0]
        self._count(f"step {kind}")
        tenants = TENANTS
        if kind == "one":
            slot = await self._somebody()
            tenants = (slot.who.tenant,)
            await self._one(slot, self._command(slot))
        elif kind == "several":
            await self._several(random.randint(2, 4), crash=False)
        elif kind == "crash":
            await self._several(random.randint(1, 3), crash=True)
        elif kind == "time":
            self._pass(random.choice((30, 120, 300, 900, 3600)))
        elif kind == "ticket":
            await self._tickets()
        elif random.random() < 0.6:
            await self._policy()
        else:
            await self._erase()
        await self._quiet()
        self._steps += 1
        await self.compare(tenants, by_filter=self._steps % FILTER_EVERY == 0)

    async def compare(
        self, tenants: tuple[str, ...] = ("acme", "globex"), *, by_filter: bool = True
    ) -> None:
        """What each caller may see, through what decides it for every route, is the model's.

        Every row of the tenant is looked at; `by_filter` has the store's filter choose as well.
        """
        chosen = self.random.choice(self.worlds)
        async with chosen.ledger.reading() as unit:
            for tenant in tenants:
                rows = await _rows(unit, tenant, self.clock.now())
                model = self.model.at_this_moment()
                for slot in (one for one in self.slots if one.who.tenant == tenant):
                    seen = await _seen(chosen, unit, slot.caller, rows, by_filter=by_filter)
                    expected = model.visible(slot.who) if model.good(slot.who) else None
                    who = f"{slot.who.principal} for {slot.who.acting} in {tenant}"
                    assert seen == expected, (
                        f"{who} sees {_difference(seen, expected)} beyond the model,"
                        f" and lacks {_difference(expected, seen)}"
                    )

    async def sweep(self) -> None:
        """Everybody searches, and asks for every memory by id."""
        for slot in self.slots:
            search: dict[str, object] = {"query": self.random.choice(self._texts), "k": 100}
            await self._one(slot, build(c.Search, search | {"statuses": STATUSES}))
            names = list(self.model.memories)
            for name in self.random.sample(names, min(6, len(names))):
                kind = self.random.choice((c.Get, c.History, c.Explain))
                await self._one(slot, build(kind, {"memory_id": name}))

    # Worlds

    async def _open(self, policy: str | None) -> None:
        self.worlds, self.staged = [], []
        servers = self._servers
        for _ in range(2):
            store = EmbeddedStore() if servers is None else servers.store()
            staged = await self._stack.enter_async_context(
                world(
                    self._folder,
                    clock=self.clock,
                    policy=policy,
                    settings=Settings(
                        vector_limit=200, keyword_limit=200, review_events_min=_EVENTS_NEVER_REACHED
                    ),
                    store=cast(MemoryStore, ParkedStore(store, self.schedule)),
                    database=None if servers is None else servers.database,
                    embedder=ParkedEmbedder(HashedEmbedder(), self.schedule),
                    wrap=self._parked,
                )
            )
            self.staged.append(staged)
            erasing = cast(Erasing, ParkedErasing(staged.world.erasing))
            self.worlds.append(replace(staged.world, background=self._background, erasing=erasing))

    def _parked(self, ledger: Ledger) -> Ledger:
        return ParkedLedger(ledger, self.schedule)

    def _background(self, job: Awaitable[None]) -> None:
        async def bare() -> None:
            CURRENT.set(None)  # nobody's call waits for it
            await job

        task = asyncio.get_running_loop().create_task(bare())
        self.jobs.add(task)
        task.add_done_callback(self.jobs.discard)

    async def _quiet(self) -> None:
        self.schedule.let_all_go()
        while self.jobs:
            await asyncio.gather(*self.jobs)

    async def _crash(self, tasks: list[asyncio.Task[Any]]) -> None:
        """Nobody goes on from where they are; both worlds are opened anew over the same file."""
        for task in (*tasks, *self.jobs):
            task.cancel()
        await asyncio.gather(*tasks, *self.jobs, return_exceptions=True)
        self.schedule.let_all_go()
        await self._stack.aclose()
        await self._open(None)

    # Steps

    async def _one(self, slot: Slot, command: c.Command) -> None:
        asked = self._asked(slot, command)
        before = await self._changes(slot, command)
        answer, error = await _answered(self.random.choice(self.worlds), asked)
        asked.check(answer, error)
        self._count(f"{type(command).__name__} {error or 'ok'}")
        if isinstance(command, c.ReviewRun) and error is None:
            await self._learn(asked, str(command.run_id), before)

    async def _several(self, number: int, *, crash: bool) -> None:
        slots = [await self._somebody() for _ in range(number)]
        commands = [self._command(slot, concurrent=True) for slot in slots]
        calls = [self._asked(*one) for one in zip(slots, commands, strict=True)]
        self.schedule.on = True
        tasks = [
            asyncio.create_task(self._checked(self.random.choice(self.worlds), asked))
            for asked in calls
        ]
        calls_max = self.random.randint(1, 40) if crash else None
        await self.schedule.play(tasks, calls_max=calls_max)
        if crash:
            done = [task for task in tasks if task.done()]
            await self._crash(tasks)
        else:
            done = tasks
        for task in done:
            task.result()  # a comparison that failed

    async def _checked(self, chosen: World, asked: Asked) -> None:
        answer, error = await _answered(chosen, asked)
        asked.check(answer, error)
        self._count(f"{type(asked.command).__name__} {error or 'ok'}")

    async def _somebody(self) -> Slot:
        """Any of the cast; a ticket that is over has mostly been replaced by then."""
        place = self.random.randrange(len(self.slots))
        if not self.model.good(self.slots[place].who) and self.random.random() < 0.8:
            self.slots[place] = await self._slot(self.slots[place].part)
        return self.slots[place]

    def _pass(self, seconds: float) -> None:
        self.clock.advance(seconds=seconds)
        self.model.now += seconds

    async def _tickets(self) -> None:
        """A ticket is revoked, made anew, or made narrower."""
        place = self.random.randrange(len(self.slots))
        slot, random = self.slots[place], self.random
        if slot.who.agent == "operator":
            self.slots[place] = await self._slot(slot.part)
        elif self.model.good(slot.who) and random.random() < 0.5:
            operator = await self._slot((slot.who.tenant, "operator", None, None))
            command = c.RevokeTicket(ticket_id=slot.who.ticket)
            await door.call(random.choice(self.worlds), operator.token, command)
            self.model.ended.add((slot.who.tenant, slot.who.ticket))
        elif random.random() < 0.5:
            scopes = frozenset(random.sample(SCOPES, random.randint(2, 4)))
            actions = frozenset(random.sample(("read", "write", "share", "review", "forget"), 3))
            narrowed: dict[str, object] = {"lifetime_s": random.choice((900, 7200))}
            narrowed |= random.choice(({"scopes": scopes}, {"actions": actions}))
            self.slots[place] = await self._slot(slot.part, **narrowed)
        else:
            self.slots[place] = await self._slot(slot.part)

    async def _policy(self) -> None:
        """The operator puts another text in force; a faulty one changes nothing."""
        operator = await self._slot((self.random.choice(TENANTS), "operator", None, None))
        text = self.random.choice(POLICIES)
        await door.call(
            self.random.choice(self.worlds), operator.token, build(c.LoadPolicy, {"text": text})
        )
        self.model.load(text)
        self._count("LoadPolicy ok")

    async def _erase(self) -> None:
        """A user is erased: what is theirs is gone, nothing else is but what rested on it."""
        tenant, user = self.random.choice(TENANTS), self.random.choice(("alice", "bob"))
        operator = await self._slot((tenant, "operator", None, None))
        chosen = self.random.choice(self.worlds)
        before = {name for name, one in self.model.memories.items() if not one.gone}
        proof = await door.call(chosen, operator.token, build(c.Erase, {"user": user}))
        assert not proof.remains.found, proof
        mine, touched = self.model.erase(tenant, user)
        async with chosen.ledger.reading() as unit:
            now = await unit.memories.current(tenant, sorted(self.model.memories))
        for name in before:
            one = self.model.memories[name]
            if one.tenant != tenant or name in mine:
                assert name not in now, f"{name} of {user} is there after the erasure"
            elif name not in now:
                assert name in touched, f"{name} went with {user}, and is not theirs"
                one.gone = True
                self.model.teaches_again(one)
            elif name in touched:
                _go_back(one, now[name])
        erased = {str(name) for name in (*mine, *touched) if self.model.memories[name].gone}
        for key, said in list(self.receipts.items()):
            names = set(said[1][1]) if said[1] and isinstance(said[1], tuple) else set[str]()
            if key[0] == tenant and (f"user:{user}" in key[1].split(" ") or names & erased):
                del self.receipts[key]
        self.asked_before = [one for one in self.asked_before if one[0].who.tenant != tenant]
        self._count("Erase ok")

    async def _slot(
        self, part: tuple[str, str | None, str | None, str | None], **fields: object
    ) -> Slot:
        tenant, agent, user, session = part
        token = await self.staged[0].ticket(
            tenant=tenant, agent=agent, user=user, session=session, **fields
        )
        caller = await self.worlds[0].tickets.verify(token, self.clock.now())
        ends = self._seconds(caller.expires_at) or 0.0
        who = Who(
            tenant, agent, user, session, caller.ticket_id, ends, caller.scopes,
            cast(frozenset[str] | None, caller.actions),
        )  # fmt: skip
        return Slot(part, who, token, caller)

    async def _changes(self, slot: Slot, command: c.Command) -> tuple[str, int] | None:
        run = self.model.runs.get(getattr(command, "run_id", None) or "")
        if not isinstance(command, c.ReviewRun) or run is None:
            return None
        async with self.worlds[0].ledger.reading() as unit:
            return run.scope, await unit.memories.scope_change(slot.who.tenant, run.scope)

    async def _learn(self, asked: Asked, name: str, before: tuple[str, int] | None) -> None:
        """A review has left exactly the record that the model expects."""
        assert before is not None
        scope, change = before
        async with self.worlds[0].ledger.reading() as unit:
            new = list(await unit.memories.changed_since(asked.who.tenant, scope, change))
        expected = asked.episode(name)
        assert len(new) == (expected is not None), f"{asked.about} left {new}, not {expected}"
        if expected is not None:
            self.model.memories[new[0]] = expected

    # Commands

    def _asked(self, slot: Slot, command: c.Command) -> Asked:
        self.asked_before.append((slot, command))
        return Asked(self.model, self.receipts, slot.who, slot.token, command, self._seconds)

    def _seconds(self, moment: datetime | None) -> float | None:
        return None if moment is None else (moment - START).total_seconds()

    def _later(self, *minutes: int) -> datetime | None:
        if self.random.random() < 0.6:
            return None
        return self.clock.now() + timedelta(minutes=self.random.choice(minutes))

    def _id(self) -> str:
        self._made += 1
        return f"c{self._made}"

    def _count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1

    def _command(self, slot: Slot, *, concurrent: bool = False) -> c.Command:
        random = self.random
        if random.random() < 0.05 and (again := self._again(slot)) is not None:
            return again
        kinds = {
            self._write: 24, self._search: 12, self._by_id: 10, self._update: 8, self._forget: 3,
            self._share: 10, self._revoke: 5, self._promote: 8, self._start: 6, self._in_run: 14,
            self._put_away: 5, self._decide: 5, self._close_project: 1, self._import: 2,
        }  # fmt: skip
        (make,) = random.choices(list(kinds), weights=list(kinds.values()))
        command = make(slot)
        if concurrent and isinstance(command, c.ReviewRun):
            return self._search(slot)
        return command

    def _again(self, slot: Slot) -> c.Command | None:
        """A command of this very caller's that was sent before."""
        again = (
            c.Write, c.Update, c.Forget, c.Promote, c.Share, c.Revoke,
            c.Archive, c.Restore, c.DecidePending, c.CloseProject, c.StartRun,
        )  # fmt: skip
        mine = [one for of, one in self.asked_before if of is slot and isinstance(one, again)]
        return self.random.choice(mine) if mine else None

    def _memory(self, slot: Slot) -> str:
        near = [n for n, one in self.model.memories.items() if one.tenant == slot.who.tenant]
        names = near if self.random.random() < 0.9 else list(self.model.memories)
        return self.random.choice(names) if names else "6c5a1f0e-7d1b-5b7e-9f53-111111111111"

    def _scope(self, slot: Slot) -> str:
        who = slot.who
        own = [who.principal, *([who.acting] if who.acting else [])]
        return self.random.choice(own if self.random.random() < 0.5 else SCOPES)

    def _run(self, slot: Slot) -> str:
        names = [n for n, run in self.model.runs.items() if not run.closed] or [*self.model.runs]
        own = [name for name in names if self.model.takes_part(slot.who, name)]
        names = own if own and self.random.random() < 0.7 else names
        return self.random.choice(names) if names else "6c5a1f0e-7d1b-5b7e-9f53-222222222222"

    def _write(self, slot: Slot) -> c.Command:
        random = self.random
        run = self._run(slot) if random.random() < 0.08 else None
        return build(c.Write, {
            "command_id": self._id(),
            "content": random.choice(self._texts),
            "scope": self._scope(slot) if random.random() < 0.7 else None,
            "labels": random.choice(((), (), (), ("secret",), ("private",))),
            "confidence": random.choice((0.8, 0.8, 0.8, 0.9, 0.4)),
            "source": random.choice(("agent", "agent", "tool")),
            "expires_at": self._later(10, 60, 300),
            "project": random.choice((None, None, None, None, *PROJECTS)),
            "run_id": run,
        })  # fmt: skip

    def _search(self, slot: Slot) -> c.Command:
        random = self.random
        return build(c.Search, {
            "query": random.choice(self._texts),
            "k": 100,
            "statuses": random.choice((None, STATUSES)),
            "scopes": random.choice((None, None, tuple(random.sample(SCOPES, 2)))),
            "run_id": self._run(slot) if random.random() < 0.1 else None,
        })  # fmt: skip

    def _by_id(self, slot: Slot) -> c.Command:
        kind = self.random.choice((c.Get, c.Get, c.History, c.Explain))
        return build(kind, {"memory_id": self._memory(slot)})

    def _update(self, slot: Slot) -> c.Command:
        content = self.random.choice((None, self.random.choice(self._texts)))
        end = self._later(60, 300, 900) if self.random.random() < 0.5 else None
        importance = 0.9 if content is None and end is None else None
        fields = {"command_id": self._id(), "memory_id": self._memory(slot), "expires_at": end}
        return build(c.Update, fields | {"content": content, "importance": importance})

    def _forget(self, slot: Slot) -> c.Command:
        return build(c.Forget, {"command_id": self._id(), "memory_id": self._memory(slot)})

    def _put_away(self, slot: Slot) -> c.Command:
        kind = self.random.choice((c.Archive, c.Restore))
        away = [n for n, one in self.model.memories.items() if one.status == "archived"]
        name = self.random.choice(away) if away and kind is c.Restore else self._memory(slot)
        return build(kind, {"command_id": self._id(), "memory_id": name})

    def _decide(self, slot: Slot) -> c.Command:
        random = self.random
        waiting = [
            name for name, one in self.model.memories.items()
            if one.tenant == slot.who.tenant and one.status in ("pending", "quarantined")
        ]  # fmt: skip
        decision = random.choice(("accept", "reject", "edit"))
        return build(c.DecidePending, {
            "command_id": self._id(),
            "memory_id": random.choice(waiting) if waiting else self._memory(slot),
            "decision": decision,
            "content": random.choice(self._texts) if decision == "edit" else None,
            "why": random.choice(("", "", "as was said")),
        })  # fmt: skip

    def _close_project(self, slot: Slot) -> c.Command:
        project = self.random.choice(PROJECTS)
        return build(c.CloseProject, {"command_id": self._id(), "project": project})

    def _import(self, slot: Slot) -> c.Command:
        random = self.random
        turns = [
            {"role": role, "content": random.choice(self._texts)} for role in ("user", "assistant")
        ]
        return build(c.ImportRuns, {
            "format": "openai-messages",
            "text": json.dumps([turns]),
            "scope": random.choice(SCOPES),
            "trusted": random.random() < 0.5,
        })  # fmt: skip

    def _promote(self, slot: Slot) -> c.Command:
        scope = self.random.choice(("global", "global", "user:alice", self._scope(slot)))
        fields = {"command_id": self._id(), "memory_id": self._memory(slot), "scope": scope}
        return build(c.Promote, fields)

    def _share(self, slot: Slot) -> c.Command:
        actions = self.random.sample(("read", "read", "write", "share", "share", "review"), 2)
        scope = self._scope(slot)
        lent = [
            rule.object
            for rule in self.model.grants
            if rule.subject == slot.who.principal and rule.action == "share"
        ]
        if lent and self.random.random() < 0.6:
            scope, actions = self.random.choice(lent), ["read"]
        return build(c.Share, {
            "command_id": self._id(),
            "scope": scope,
            "to": self.random.choice(SUBJECTS),
            "actions": tuple(dict.fromkeys(actions)),
            "until": self._later(20, 90, 240),
        })  # fmt: skip

    def _revoke(self, slot: Slot) -> c.Command:
        grants = [r for r in self.model.grants if r.tenant == slot.who.tenant]
        own = [r for r in grants if r.grantor == slot.who.principal] or grants
        one = self.random.choice(own) if own else None
        return build(c.Revoke, {
            "command_id": self._id(),
            "scope": one.object if one else self._scope(slot),
            "to": one.subject if one else self.random.choice(SUBJECTS),
            "actions": self.random.choice((None, ("read",), ("share", "write"))),
        })  # fmt: skip

    def _start(self, slot: Slot) -> c.Command:
        name = self._id()
        fields = {"command_id": name, "goal": f"Goal {name}", "scope": self._scope(slot)}
        return build(c.StartRun, fields)

    def _in_run(self, slot: Slot) -> c.Command:
        run = self._run(slot)
        kind = self.random.choice(
            (
                c.JoinRun,
                c.JoinRun,
                c.CloseRun,
                c.ReadRun,
                c.RecordEvents,
                c.RecordEvents,
                c.ReviewRun,
            )
        )
        if kind is not c.RecordEvents:
            return build(kind, {"run_id": run})
        name = self._id()
        event = {
            "event_id": str(UUID(int=0x7 << 76 | 0b10 << 62 | self._made)),
            "run_id": run,
            "agent": slot.who.name,
            "incarnation": name,
            "seq": 0,
            "timestamp": self.clock.now(),
            "kind": "decision",
            "summary": f"decide {name}",
        }
        return build(c.RecordEvents, {"run_id": run, "events": (event,)})


async def _answered(chosen: World, asked: Asked) -> tuple[Any, str | None]:
    CURRENT.set(asked)
    try:
        return await door.call(chosen, asked.token, asked.command), None
    except HindsightError as error:
        return None, type(error).__name__
    finally:
        CURRENT.set(None)


async def _rows(unit: Unit, tenant: str, now: datetime) -> Sequence[Memory]:
    """Every row that anybody of the tenant might be shown."""
    rows = RowFilter(tenant=tenant, now=now, keys=None, statuses=frozenset(STATUSES))
    near = await unit.memories.nearest_of(rows, _ANY_VECTOR, None)
    return list((await unit.memories.current(tenant, [one.ref.id for one in near])).values())


async def _seen(
    chosen: World, unit: Unit, caller: Caller, everything: Sequence[Memory], *, by_filter: bool
) -> set[str] | None:
    """Every id that this caller's filter and checks let through; None for a ticket that is over."""
    try:
        admitted = await admit(chosen, unit, caller)
    except InvalidTicket:
        return None
    seen = {str(memory.id) for memory in everything if shows(admitted, memory)}
    rows = replace(await row_filter(chosen, unit, admitted), statuses=frozenset(STATUSES))
    passing = {str(memory.id) for memory in everything if _passes(rows, memory)}
    assert seen <= passing, f"the filter keeps {seen - passing} from {caller.principal}"
    if by_filter:
        by_rows = await unit.memories.nearest_of(rows, _ANY_VECTOR, None)
        by_store = await chosen.store.nearest(unit, rows, _ANY_VECTOR, limit=_ALL)
        for way, near in (("ledger", by_rows), ("store", by_store)):
            found = {str(one.ref.id) for one in near}
            off = found ^ passing
            assert not off, f"the {way}'s filter is off by {off} for {caller.principal}"
    return seen & passing


def _passes(rows: RowFilter, memory: Memory) -> bool:
    keyed = rows.keys is None or audience_key(filed_audience(memory)) in rows.keys
    return keyed and rows.denied_labels.isdisjoint(memory.labels)


def _go_back(one: Kept, now: Memory) -> None:
    """It says again what it said before it rested on what was erased: so the ledger says. How it
    stands and when it ends is left as it was, but that it may wait for a person again."""
    waits = one.status == "active" and now.status in ("pending", "quarantined")
    assert waits or now.status == one.status, f"{now.id} was {one.status}, and is {now.status}"
    source = now.source
    one.content, one.status, one.trusted = now.content, now.status, source.trusted
    one.reviewed, one.weight = source.reviewed_by, source.weight
    one.author = f"agent:{source.agent}" if source.agent else f"user:{source.user}"
    one.user, one.run = source.user, source.run
    one.rests_on = frozenset(ref.id for ref in now.derived_from)


def _difference(one: set[str] | None, other: set[str] | None) -> object:
    if one is None or other is None:
        return one
    return sorted(one - other)


def in_memory() -> Path:
    """A fresh folder that costs no disk where the machine has one in memory."""
    shared = Path("/dev/shm")  # noqa: S108 - looked for, and done without where it is not
    return Path(tempfile.mkdtemp(prefix="simulated-", dir=shared if shared.is_dir() else None))


async def play(seed: int, steps: int, servers: Servers | None = None) -> dict[str, int]:
    """A whole history of one seed; what happened in it, counted. Raises at the first difference."""
    folder = in_memory()
    history = History(seed, folder / "home", servers)
    try:
        with without_threads():
            return await _played(history, seed, steps)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _played(history: History, seed: int, steps: int) -> dict[str, int]:
    await history.begin()
    try:
        for number in range(steps):
            try:
                await history.step()
            except AssertionError as difference:
                raise AssertionError(f"seed {seed}, step {number}: {difference}") from difference
        await history.compare()
        await history.sweep()
    finally:
        await history.end()
    return history.counts
