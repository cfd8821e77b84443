"""Worlds for tests: a whole embedded home in a folder, with a clock that tests set.

Everything in it is the real thing, on a real file; only time, ids and the embedding are chosen so
that a test reads the same every time.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from hindsight_ray.adapters.background import BackgroundJobs
from hindsight_ray.adapters.erasing import SqlErasing
from hindsight_ray.adapters.ledger.sql import SqlLedger
from hindsight_ray.adapters.ledger.sql.audit import Chains
from hindsight_ray.adapters.ledger.sql.postgres import Server
from hindsight_ray.adapters.models.hashed import HashedEmbedder
from hindsight_ray.adapters.policy.audit_key import AuditKey
from hindsight_ray.adapters.policy.casbin import CasbinPolicies
from hindsight_ray.adapters.policy.profiles import shipped_text
from hindsight_ray.adapters.policy.tickets import create_operator_key, load_signer
from hindsight_ray.adapters.stores.embedded import EmbeddedStore
from hindsight_ray.core.policy_text import parse_policy
from hindsight_ray.domain.caller import Caller, TicketRequest
from hindsight_ray.domain.commands import Command
from hindsight_ray.domain.settings import Settings
from hindsight_ray.ports import ChatModel, Embedder, Ledger, MemoryStore
from hindsight_ray.service.world import Recording, World

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
TENANT = "acme"


class SetClock:
    """A clock that stands until a test moves it."""

    def __init__(self, start: datetime = START) -> None:
        self._now = start
        self._steady_s = 0.0

    def now(self) -> datetime:
        return self._now

    def steady_s(self) -> float:
        return self._steady_s

    def advance(self, **parts: float) -> datetime:
        """Move on by `timedelta(**parts)` and return the new time."""
        step = timedelta(**parts)
        self._now += step
        self._steady_s += step.total_seconds()
        return self._now


class CountedIds:
    """Ids that count from 1: the same in every run of a test."""

    def __init__(self) -> None:
        self._made = 0

    def event_id(self) -> str:
        self._made += 1
        return str(UUID(int=0x7 << 76 | 0b10 << 62 | self._made))

    def token(self) -> str:
        self._made += 1
        return f"{self._made:032x}"


@dataclass(frozen=True, slots=True)
class Staged:
    """A world and the hands to work it: its clock, and tickets for whoever a test names."""

    world: World
    clock: SetClock
    jobs: BackgroundJobs
    path: Path

    async def ticket(
        self,
        *,
        agent: str | None = None,
        user: str | None = None,
        tenant: str = TENANT,
        session: str | None = None,
        **fields: object,
    ) -> str:
        """The token of a fresh ticket; its tenant is made known."""
        async with self.world.ledger.writing() as unit:
            await unit.policy.add_tenant(tenant, self.clock.now())
            age = (await unit.policy.standing(tenant, "")).age
        request = TicketRequest.model_validate(
            {"tenant": tenant, "agent": agent, "user": user, "session": session, **fields}
        )
        return (await self.world.tickets.issue(request, self.clock.now(), age=age)).token

    async def caller(
        self,
        *,
        agent: str | None = None,
        user: str | None = None,
        tenant: str = TENANT,
        session: str | None = None,
        **fields: object,
    ) -> Caller:
        """A verified caller, as a door would have it."""
        token = await self.ticket(agent=agent, user=user, tenant=tenant, session=session, **fields)
        return await self.world.tickets.verify(token, self.clock.now())

    async def operator(self, tenant: str = TENANT, *, begin: bool = True) -> str:
        """A token of the operator's."""
        return await self.ticket(agent="operator", tenant=tenant)

    async def ask(self, token: str, command: Command) -> object:
        """Call the door."""
        from hindsight_ray.service import door  # noqa: PLC0415 - tests of parts need no verbs

        return await door.call(self.world, token, command)


def _as_it_is(ledger: Ledger) -> Ledger:
    return ledger


@asynccontextmanager
async def world(
    path: Path,
    *,
    clock: SetClock | None = None,
    policy: str | None = "default.csv",
    settings: Settings | None = None,
    embedder: Embedder | None = None,
    store: MemoryStore | None = None,
    wrap: Callable[[Ledger], Ledger] = _as_it_is,
    chat: ChatModel | None = None,
    database: Server | None = None,
    recording: Recording | None = None,
) -> AsyncGenerator[Staged]:
    """A home in `path`, opened; several at once may share it. Background jobs are awaited.

    `policy` is the name of a shipped profile or a policy's text; None leaves what is there. `store`
    is closed with the world. `wrap` puts something around the ledger, which is in the `database` of
    a server if one is given.
    """
    embedder = embedder or HashedEmbedder()
    store = store or EmbeddedStore(embedder.space.model)
    chosen = settings or Settings(lock_wait_s=5.0)
    path.mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240 - a test's own folder, once
    create_operator_key(path)
    ledger = await SqlLedger.open(
        database or path / "hindsight.sqlite3",
        lock_wait_s=chosen.lock_wait_s,
        chains=Chains("home", AuditKey(path)),
        store_apart=not store.shares_ledger,
    )
    set_clock = clock or SetClock()
    jobs = BackgroundJobs()
    staged = Staged(
        world=World(
            ledger=wrap(ledger),
            store=store,
            embedder=embedder,
            tickets=load_signer(path),
            policies=CasbinPolicies(shipped_text("model.conf")),
            clock=set_clock,
            ids=CountedIds(),
            settings=chosen,
            background=jobs,
            erasing=SqlErasing(ledger, path),
            chat=chat,
            recording=recording,
        ),
        clock=set_clock,
        jobs=jobs,
        path=path,
    )
    try:
        if policy is not None:
            text = shipped_text(policy) if policy.endswith(".csv") else policy
            parsed = parse_policy(text)
            async with ledger.writing() as unit:
                if await unit.policy.current() != parsed:
                    await unit.policy.replace(parsed.rules, parsed.memberships, set_clock.now())
        yield staged
    finally:
        try:
            await jobs.finish()
        finally:
            await store.close()
            await ledger.close()
