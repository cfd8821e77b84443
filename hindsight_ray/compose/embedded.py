"""A home in one process: every adapter of it, and what worlds on Ray are made of too."""

import importlib
import logging
import os
import shlex
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from hindsight_ray.adapters.background import BackgroundJobs
from hindsight_ray.adapters.clock import SystemClock, SystemIds
from hindsight_ray.adapters.erasing import SqlErasing
from hindsight_ray.adapters.home import LEDGER_FILE, Home
from hindsight_ray.adapters.ledger.sql.audit import Chains
from hindsight_ray.adapters.ledger.sql.ledger import WRITER, SqlLedger
from hindsight_ray.adapters.ledger.sql.server import ADDRESS_IS, Server
from hindsight_ray.adapters.models.remembered import RememberingEmbedder
from hindsight_ray.adapters.policy.audit_key import AuditKey
from hindsight_ray.adapters.policy.on_demand import CasbinOnDemand
from hindsight_ray.adapters.policy.operator import OperatorTickets
from hindsight_ray.adapters.policy.profiles import shipped_text
from hindsight_ray.adapters.policy.tickets import create_operator_key, load_signer
from hindsight_ray.adapters.stores.embedded import EmbeddedStore
from hindsight_ray.adapters.watching import PLAIN, DoorWatch, log_to_stderr, set_up_tracing
from hindsight_ray.adapters.wrapping.grouped import GroupedLedger
from hindsight_ray.client.transport import Connection
from hindsight_ray.compose.space import embedder_of, in_its_space, maker_of
from hindsight_ray.core.policy_text import parse_policy
from hindsight_ray.domain.commands import Command
from hindsight_ray.domain.rows import EmbeddingSpace
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import InvalidSettings, Unavailable
from hindsight_ray.ports import ChatModel, Embedder, Erasing, Ledger, MemoryStore, Tickets
from hindsight_ray.ports.reviewing import Reviews
from hindsight_ray.service import door
from hindsight_ray.service.erase import erase_again
from hindsight_ray.service.settle import finish, replay_all
from hindsight_ray.service.world import MakeEmbedder, MakeStore, Opened, Recording, World
from hindsight_ray.settings import keep_settings, load_settings

HOME_DEFAULT = "memory"
FILE_LEDGER = "sqlite"
EMBEDDED = Settings().store
_NOBODY = "none"  # asks for the policy's revision alone
_log = logging.getLogger(__name__)


async def connection(path: Path, given: Mapping[str, object]) -> Connection:
    home = Home.embedded(path)
    try:
        settings = settings_of(home.path, given)
        create_operator_key(home.path)
        follow = given.get("embedding") is None
        opened = await world_of_home(home.path, settings, follow=follow)
        settings = opened.world.settings
    except BaseException:
        home.release()
        raise
    world = opened.world

    async def make_known(tenant: str, _token: str) -> None:
        async with world.ledger.reading() as unit:
            known = (await unit.policy.standing(tenant, _NOBODY)).tenant_known
        if not known:
            async with world.ledger.writing() as unit:
                await unit.policy.add_tenant(tenant, world.clock.now())

    operator = OperatorTickets(load_signer(home.path), world.clock, make_known)
    return Connection(_Here(opened, home), settings, world.clock, world.ids, operator)


class _Here:
    """The transport of an embedded home: the door is in this process."""

    def __init__(self, opened: Opened, home: Home) -> None:
        self._opened = opened
        self._home = home

    async def call(self, token: str, command: Command) -> Any:
        return await door.call(self._opened.world, token, command)

    async def close(self) -> None:
        try:
            await self._opened.close()
        finally:
            self._home.release()


async def world_of_home(home: Path, settings: Settings, *, follow: bool = False) -> Opened:
    """A world with everything in one process: the operator's key, the models, the ledger.

    With `follow`, by the model that the home is pinned to, whatever the settings name.
    """
    ledger = await ledger_of(home, settings)
    try:
        if follow:
            settings = await in_its_space(ledger, home, settings)
        embedder = RememberingEmbedder(embedder_of(settings))
        await prepare(ledger, embedder.space, settings.policy)
        await begin_store(ledger, settings)
        store = store_of(settings, embedder.space)
        await check_store(store, settings)
        chat = chat_of(settings)
        opened = assembled(
            ledger, store, embedder, load_signer(home), settings, chat=chat,
            erasing=SqlErasing(ledger, home), make_embedder=maker_of(settings),
        )  # fmt: skip
        await erase_again(opened.world)
    except BaseException:
        await ledger.close()
        raise
    start_replay(opened.world)
    return opened


async def check_store(store: MemoryStore, settings: Settings) -> None:
    """Raises `Unavailable` for a store that is away, unless what it would be told may wait."""
    try:
        await store.check()
    except Unavailable as error:
        if settings.store_outage != "queue":
            raise
        _log.warning("opened without the memory store: %s", error)


async def ledger_of(home: Path, settings: Settings, *, writer: str = WRITER) -> SqlLedger:
    """The home's ledger; `writer` names this process in the audit."""
    return await SqlLedger.open(
        database_of(home, settings),
        lock_wait_s=settings.lock_wait_s,
        readers=settings.ledger_readers,
        store_apart=settings.store != EMBEDDED,
        chains=Chains(writer, AuditKey(home)),
    )


def database_of(home: Path, settings: Settings) -> Path | Server:
    """Where the ledger is. Raises `InvalidSettings` if its address is nowhere to be read."""
    if settings.ledger == FILE_LEDGER:
        return home / LEDGER_FILE
    name = settings.postgres_dsn_env
    address = os.environ.get(name, "")
    if not address:
        raise InvalidSettings(
            f"`postgres_dsn_env` names the environment variable {name!r}, which is not set here;"
            f" set it to the server's address on every node, {ADDRESS_IS}",
            setting="postgres_dsn_env",
        )
    return Server(address, f"`{name}`")


async def prepare(ledger: SqlLedger, space: EmbeddingSpace, profile: str) -> None:
    """Give a new home its first policy, and refuse a model that is not the home's."""
    async with ledger.reading() as unit:
        revision = (await unit.policy.standing(_NOBODY, _NOBODY)).revision
        pinned = await unit.spaces.pinned()
    if revision == 0 or pinned is None:
        async with ledger.writing() as unit:
            if (await unit.policy.standing(_NOBODY, _NOBODY)).revision == 0:
                first = parse_policy(shipped_text(f"{profile}.csv"))
                await unit.policy.replace(first.rules, first.memberships, SystemClock().now())
            await unit.spaces.pin(space.model, space.dimension)
    elif pinned != (space.model, space.dimension):
        async with ledger.writing() as unit:
            await unit.spaces.pin(space.model, space.dimension)  # says what it is pinned to


def store_of(settings: Settings, space: EmbeddingSpace, *, among: int = 1) -> MemoryStore:
    """The memory store that the settings name, for one `among` so many processes that use it.

    Connects to nothing yet.
    """
    if settings.store == EMBEDDED:
        return EmbeddedStore(space.model)
    weaviate = importlib.import_module("hindsight_ray.compose.weaviate")
    return weaviate.store(settings, space, among=among)


def maker_of_stores(settings: Settings) -> MakeStore | None:
    """How stores over other spaces are had, where the store is apart."""
    if settings.store == EMBEDDED:
        return None
    weaviate = importlib.import_module("hindsight_ray.compose.weaviate")
    return partial(weaviate.store, settings)


async def begin_store(ledger: SqlLedger, settings: Settings) -> None:
    """See that a store which this home has not used before is told of all that there is."""
    name = "" if settings.store == EMBEDDED else settings.weaviate_url
    async with ledger.reading() as unit:
        known = await unit.intents.told_to()
    if known != name:
        async with ledger.writing() as unit:
            await unit.intents.tell_all(name)


def start_replay(world: World) -> None:
    """See that the store is told what an earlier process left open."""
    if not world.store.shares_ledger:
        world.background(replay_all(world))


def assembled(
    ledger: Ledger,
    store: MemoryStore,
    embedder: Embedder,
    tickets: Tickets,
    settings: Settings,
    *,
    chat: ChatModel | None = None,
    erasing: Erasing | None = None,
    make_embedder: MakeEmbedder | None = None,
    watch: DoorWatch | None = None,
    reviews: Reviews | None = None,
    recording: Recording | None = None,
) -> Opened:
    """A world over these, with what all worlds share."""
    jobs = BackgroundJobs()

    async def close() -> None:
        try:
            await jobs.finish()
            await finish(world)
        finally:
            await store.close()
            await ledger.close()

    watching = watch or DoorWatch(PLAIN, "home")
    world = World(
        ledger=ledger,
        store=store,
        embedder=embedder,
        tickets=tickets,
        policies=CasbinOnDemand(),
        clock=SystemClock(),
        ids=SystemIds(),
        settings=settings,
        background=jobs,
        chat=chat,
        erasing=erasing,
        make_embedder=make_embedder,
        make_store=maker_of_stores(settings),
        watch=watching,
        reviews=reviews,
        recording=recording,
    )
    watching.look_at(partial(_queues, world, jobs))
    if settings.request_log == "stderr":
        log_to_stderr()
    if settings.tracing_setup:
        set_up_tracing(settings.tracing_setup)
    return Opened(world, close)


def _queues(world: World, jobs: BackgroundJobs) -> Mapping[str, int]:
    """How many wait in this process: writers, searches to be noted, intents to be closed, jobs."""
    ledger = world.ledger
    writers = ledger.waiting if isinstance(ledger, GroupedLedger) else 0
    return {
        "writers": writers + len(world.recording or ()),
        "recalls": len(world.recalls.waiting),
        "intents": len(world.settling.waiting),
        "jobs": jobs.running,
    }


def chat_of(settings: Settings) -> ChatModel | None:
    """The gateway to the language models that the settings name; None if they name none."""
    if settings.chat_strong is None and settings.chat_weak is None:
        return None
    from hindsight_ray.adapters.models.gateway import LiteLLMChat  # noqa: PLC0415 - few homes ask

    return LiteLLMChat(settings)


def settings_of(path: Path, given: Mapping[str, object]) -> Settings:
    """The settings in force. A new home keeps the model it begins with: it is pinned to it."""
    settings = load_settings(path, given)
    began_with = load_settings(path, {})
    if not (path / LEDGER_FILE).exists() and began_with.ledger == FILE_LEDGER:
        for prefix in ("embedding", "policy", "ledger", "postgres", "store", "weaviate"):
            if _chosen(settings, prefix) != _chosen(Settings(), prefix):
                path.mkdir(mode=0o700, parents=True, exist_ok=True)
                keep_settings(path, settings, prefix=prefix)
        return settings
    here = shlex.quote(str(path))
    if settings.policy != began_with.policy:
        raise InvalidSettings(
            f"`policy` {settings.policy!r} is for a new home, and this one began with"
            f" {began_with.policy!r}; replace it with `hindsight-ray --home {here} policy load"
            f" {settings.policy}`",
            setting="policy",
        )
    if settings.ledger != began_with.ledger:
        raise InvalidSettings(
            f"`ledger` {settings.ledger!r} is not where this home began, which is"
            f" {began_with.ledger!r}; copy it with `hindsight-ray --home {here} backup"
            f" {here}-copy`, and restore the copy into a new home",
            setting="ledger",
        )
    return settings


def _chosen(settings: Settings, prefix: str) -> dict[str, object]:
    fields = settings.model_dump()
    return {name: value for name, value in fields.items() if name.startswith(prefix)}


def home_default() -> Path:
    """The folder that is meant where none is named."""
    return Path.cwd() / HOME_DEFAULT
