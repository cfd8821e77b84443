"""What the processes of a deployment on Ray are made of: the plan, and each actor's world.

Apart from how a client comes to a deployment (`on_ray.py`), since this runs inside the actors.
"""

import gc
from collections.abc import Callable
from functools import partial
from pathlib import Path

from hindsight_ray.actors import cluster, deployment
from hindsight_ray.actors.cluster import Attached
from hindsight_ray.actors.meters import RayMeters
from hindsight_ray.actors.plan import Plan
from hindsight_ray.actors.remote_chat import RemoteChat
from hindsight_ray.actors.remote_models import RemoteEmbedder
from hindsight_ray.actors.remote_reviews import RemoteReviews
from hindsight_ray.actors.roles import Crew
from hindsight_ray.adapters.erasing import SqlErasing
from hindsight_ray.adapters.home import Home
from hindsight_ray.adapters.models.remembered import RememberingEmbedder
from hindsight_ray.adapters.policy.tickets import create_operator_key, load_signer, load_verifier
from hindsight_ray.adapters.watching import DoorWatch
from hindsight_ray.adapters.wrapping.grouped import GroupedLedger
from hindsight_ray.compose.embedded import (
    assembled,
    begin_store,
    chat_of,
    embedder_of,
    ledger_of,
    prepare,
    start_replay,
    store_of,
)
from hindsight_ray.domain.settings import Settings
from hindsight_ray.ports import Embedder, Ledger, Tickets
from hindsight_ray.service.erase import erase_again
from hindsight_ray.service.together import Together
from hindsight_ray.service.world import Opened, Recording


def plan_of(path: Path, settings: Settings, tie: Attached) -> Plan:
    """The deployment over this home, as every actor of it is built."""
    return Plan(
        home=str(path),
        address=tie.address,
        node_id=tie.node_id,
        settings=settings,
        seize=partial(_seize, path, tie.address),
        authority_world=partial(_authority_world, path, settings),
        broker_world=partial(_broker_world, path, settings),
        recorder_world=partial(_recorder_world, path, settings),
        embedder=partial(_own_embedder, settings),
        chat=partial(chat_of, settings),
    )


# What follows runs inside the actors: Ray calls it again whenever it restarts one.


def _seize(path: Path, address: str) -> Callable[[], None]:
    return Home.deployed(path, address).release


async def _authority_world(path: Path, settings: Settings) -> Opened:
    create_operator_key(path)
    ledger = await ledger_of(path, settings, writer=cluster.own_name())
    try:
        await prepare(ledger, embedder_of(settings).space, settings.policy)
        await begin_store(ledger, settings)
        opened = _assembled(ledger, settings, load_signer(path), SqlErasing(ledger, path))
        await erase_again(opened.world)
        return opened
    except BaseException:
        await ledger.close()
        raise


async def _broker_world(path: Path, settings: Settings) -> Opened:
    ledger = await ledger_of(path, settings, writer=cluster.own_name())
    opened = _assembled(ledger, settings, load_verifier(path))
    start_replay(opened.world)
    return opened


async def _recorder_world(path: Path, settings: Settings) -> Opened:
    ledger = GroupedLedger(await ledger_of(path, settings, writer=cluster.own_name()))
    return _assembled(ledger, settings, load_verifier(path), recording=Together())


def _assembled(
    ledger: Ledger,
    settings: Settings,
    tickets: Tickets,
    erasing: SqlErasing | None = None,
    recording: Recording | None = None,
) -> Opened:
    embedder = _remote_embedder(settings)
    crew = settings.brokers + settings.recorder_hosts + settings.reviewers
    store = store_of(settings, embedder.space, among=crew + 1)  # with the authority
    known = chat_of(settings)
    chat = None if known is None else RemoteChat(known)
    name = cluster.own_name()
    watch = DoorWatch(RayMeters(name), name)
    watch.keep_telling()
    crew = Crew(settings.brokers, settings.recorder_hosts, settings.reviewers)
    opened = assembled(
        ledger, store, embedder, tickets, settings, chat=chat, erasing=erasing, watch=watch,
        reviews=RemoteReviews(crew, deployment.crew_now), recording=recording,
    )  # fmt: skip
    gc.freeze()  # modules stay: looking through them for garbage took a quarter of a host's time
    return opened


async def _own_embedder(settings: Settings) -> Embedder:
    return embedder_of(settings)


def _remote_embedder(settings: Settings) -> Embedder:
    return RememberingEmbedder(RemoteEmbedder(embedder_of(settings).space))
