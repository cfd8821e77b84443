"""A deployment on Ray: what its processes are made of, and how a client comes to it.

Imported by `compose` when a deployment is asked for, since Ray takes a second to import.
"""

import gc
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from hindsight_ray.actors import cluster, deployment
from hindsight_ray.actors.cluster import Attached
from hindsight_ray.actors.meters import RayMeters
from hindsight_ray.actors.plan import Deployed, Plan
from hindsight_ray.actors.presence import Presence
from hindsight_ray.actors.remote_chat import RemoteChat
from hindsight_ray.actors.remote_models import RemoteEmbedder
from hindsight_ray.actors.remote_reviews import RemoteReviews
from hindsight_ray.actors.roles import Crew
from hindsight_ray.actors.tasks import RayTasks
from hindsight_ray.actors.transport import RayTransport
from hindsight_ray.adapters.clock import SystemClock, SystemIds
from hindsight_ray.adapters.erasing import SqlErasing
from hindsight_ray.adapters.home import Home, deployment_address, forget_deployment
from hindsight_ray.adapters.models.remembered import RememberingEmbedder
from hindsight_ray.adapters.policy.operator import (
    OPERATOR,
    OperatorTickets,
    holds_operator_key,
)
from hindsight_ray.adapters.policy.tickets import create_operator_key, load_signer, load_verifier
from hindsight_ray.adapters.starting import Head, forget_head, note_head, noted_head, starting
from hindsight_ray.adapters.watching import DoorWatch
from hindsight_ray.adapters.wrapping.grouped import GroupedLedger
from hindsight_ray.client.transport import Connection
from hindsight_ray.compose.embedded import (
    FILE_LEDGER,
    assembled,
    begin_store,
    chat_of,
    database_of,
    embedder_of,
    home_default,
    ledger_of,
    prepare,
    settings_of,
    start_replay,
    store_of,
)
from hindsight_ray.domain.base import build
from hindsight_ray.domain.caller import TicketRequest
from hindsight_ray.domain.commands import IssueTicket
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import InvalidSettings, Unavailable
from hindsight_ray.ports import Clock, Embedder, Ledger, Tickets
from hindsight_ray.service.erase import erase_again
from hindsight_ray.service.together import Together
from hindsight_ray.service.world import Opened, Recording
from hindsight_ray.settings import build_settings, load_settings

_CREW_NUMBERS = frozenset({"brokers", "recorder_hosts", "reviewers"})
_ANSWER_WAIT_S = 10.0
_CREW_WAIT_S = 90.0  # how long `up` waits for an actor before it reports it as not there


async def connection(
    address: str | None, home: Path | None, given: Mapping[str, object]
) -> Connection:
    """Join the deployment that is meant, or start it, and return the way to it."""
    if address is not None or cluster.is_part_of_one():
        return await _through(cluster.attach(address), home, given)
    path = home or home_default()
    async with starting(path):
        running = await _tied(path)
        return await _through(running or cluster.attach(None), home, given)


async def up(address: str | None, home: Path | None, given: Mapping[str, object]) -> Deployed:
    """The deployment over `home`, started to outlive this process unless it runs already.

    One that somebody has begun to end is ended first. What an `up` that was killed has left is
    ended by the next, and by `down`.
    """
    path = home or home_default()
    if address is not None:
        return await _up_there(cluster.attach(address), home, given)
    async with starting(path):
        running = await _tied(path)
        if running is not None and not await deployment.half_ended():
            return await _up_there(running, path, given)
        settings = _looked_at(path, given)
        await _end(running, path)
        if running is not None:
            running.leave()
        return await _up_here(path, settings)


async def _up_there(tie: Attached, home: Path | None, given: Mapping[str, object]) -> Deployed:
    """In a cluster that runs: the deployment that there is, put in order, or a new one."""
    if await deployment.half_ended():
        _looked_at(home or home_default(), given)
        await deployment.take_down()
    await _joined(tie, home, given)
    return await _watched(tie.address, wait_s=_CREW_WAIT_S)


async def _up_here(path: Path, settings: Settings) -> Deployed:
    """In a cluster of its own, on this machine's loopback."""
    address, pid = cluster.start_lasting(path)
    head = Head(pid, address)
    try:
        note_head(path, head)
        await cluster.wait_until_up(address, pid)
        tie = cluster.attach(address)
        await deployment.bring_up(_plan(path, settings, tie))
        return await _watched(address, wait_s=_CREW_WAIT_S)
    except BaseException:
        cluster.leave()
        with suppress(Unavailable):  # what went wrong first is what is told
            await _end_head(path, head)
        raise


def _looked_at(path: Path, given: Mapping[str, object]) -> Settings:
    """The settings in force, refused before anything is started for them."""
    settings = load_settings(path, given)
    embedder_of(settings)
    database_of(path, settings)
    return settings_of(path, given)


async def status(
    address: str | None, home: Path | None, *, starting: bool = False
) -> Deployed | None:
    """The deployment with its actors' process ids, or None if there is none. Starts nothing."""
    where = address or await _address_of(home)
    if where is None:
        return None
    return await _watched(where, wait_s=_CREW_WAIT_S if starting else _ANSWER_WAIT_S)


async def scale(
    address: str | None,
    home: Path | None,
    *,
    brokers: int | None,
    recorder_hosts: int | None,
    reviewers: int | None,
) -> Deployed:
    """Have so many actors of each role in the running deployment; None leaves a number as it is."""
    where = address or await _address_of(home)
    if where is None:
        raise Unavailable("there is no deployment to scale; `hindsight-ray up` starts one")
    cluster.attach(where)
    found = await deployment.find()
    if found is None:
        raise _none_at(where)
    given = {"brokers": brokers, "recorder_hosts": recorder_hosts, "reviewers": reviewers}
    changed = {name: number for name, number in given.items() if number is not None}
    build_settings({**found.settings.model_dump(), **changed})
    await deployment.scale(changed)
    return await _watched(where, wait_s=_CREW_WAIT_S)


async def down(address: str | None, home: Path | None) -> bool:
    """Drain and end the deployment, and its cluster if `up` started it. False if there is none."""
    if address is not None:
        tie = cluster.attach(address)
        found = await deployment.find()
        return await _end(tie, home if found is None else Path(found.home))
    path = home or home_default()
    if deployment_address(path) is None and noted_head(path) is None:
        return False
    async with starting(path):
        return await _end(await _tied(path), path)


async def _end(tie: Attached | None, home: Path | None) -> bool:
    """End whatever there is of a deployment, and the cluster that `up` started for its home.

    Whether there was any of either.
    """
    ended, fault = False, None
    try:
        ended = tie is not None and await deployment.take_down()
    except Unavailable as error:  # told once its cluster has ended too
        fault = error
    head = None if home is None else noted_head(home)
    if home is not None and head is not None and head.is_at(None if tie is None else tie.address):
        cluster.leave()
        await _end_head(home, head)
        ended = True
    if fault is not None:
        raise fault
    return ended


async def _end_head(home: Path, head: Head) -> None:
    await cluster.end_lasting(head.pid, head.address)
    forget_head(home)


async def _tied(home: Path) -> Attached | None:
    """The tie to the cluster of the home's deployment; None for none.

    Lets a home go that a deployment has left without a word.
    """
    address = deployment_address(home)
    if address is None:
        return None
    tie = cluster.attach(address)
    if tie.address != address or await deployment.find() is not None:
        return tie
    tie.leave()
    forget_deployment(home)
    return None


async def _address_of(home: Path | None) -> str | None:
    """Where the home's deployment is, with this process tied to it; None for none."""
    tie = await _tied(home or home_default())
    return None if tie is None else tie.address


async def _watched(address: str, *, wait_s: float = _ANSWER_WAIT_S) -> Deployed:
    cluster.attach(address)
    found = await deployment.watch(wait_s=wait_s)
    if found is None:
        raise _none_at(address)
    return found


def _none_at(address: str) -> Unavailable:
    return Unavailable(f"there is no deployment at {address!r}; `hindsight-ray up` starts one")


async def _through(tie: Attached, home: Path | None, given: Mapping[str, object]) -> Connection:
    """The connection over this cluster's deployment, which is started if there is none."""
    deployed = await _joined(tie, home, given)

    async def leave() -> None:
        if tie.ours:
            await deployment.take_down()
        tie.leave()

    presence = Presence(tie.address, tie.leave)
    transport = RayTransport(deployed.crew, leave, deployment.crew_now, presence)
    clock = SystemClock()
    operator = _operator(deployed, tie, transport, clock)
    return Connection(
        transport, deployed.settings, clock, SystemIds(), operator, RayTasks(), presence.gone
    )


async def _joined(tie: Attached, home: Path | None, given: Mapping[str, object]) -> Deployed:
    """This cluster's deployment, in order, which is started if there is none."""
    try:
        deployed = await deployment.join()
        if deployed is None:
            path = home or home_default()
            deployed = await deployment.bring_up(_plan(path, _looked_at(path, given), tie))
        _check_same(deployed, tie, home, given)
    except BaseException:
        tie.leave()
        raise
    return deployed


def _operator(
    deployed: Deployed, tie: Attached, transport: RayTransport, clock: Clock
) -> OperatorTickets | None:
    """The operator's tickets where its key can be read: on the home's node, by its owner."""
    home = Path(deployed.home)
    here = tie.node_id == deployed.node_id or not _of_one_node(deployed)
    if not here or not holds_operator_key(home):
        return None

    async def make_known(tenant: str, token: str) -> None:
        request = build(TicketRequest, {"tenant": tenant, "agent": OPERATOR, "lifetime_s": 60})
        await transport.call(token, IssueTicket(request=request))

    return OperatorTickets(load_signer(home), clock, make_known)


def _of_one_node(deployed: Deployed) -> bool:
    return deployed.settings.ledger == FILE_LEDGER


def _check_same(
    deployed: Deployed, tie: Attached, home: Path | None, given: Mapping[str, object]
) -> None:
    if home is not None and str(home) != deployed.home:
        raise InvalidSettings(
            f"`home` {str(home)!r} is not that of the deployment at {deployed.address}, which is"
            f" {deployed.home!r}; a cluster has one deployment",
            home=deployed.home,
        )
    if home is not None and tie.node_id != deployed.node_id and _of_one_node(deployed):
        raise InvalidSettings(
            f"`home` {str(home)!r} is a SQLite home on node {deployed.node_id} alone, and this is"
            f" node {tie.node_id}; leave `home` out to use the deployment from here",
            node=deployed.node_id,
        )
    asked = {name: value for name, value in given.items() if value is not None}
    wanted = build_settings({**deployed.settings.model_dump(), **asked})
    for name in asked:
        running, value = getattr(deployed.settings, name), getattr(wanted, name)
        if value != running:
            how = "stop it with `hindsight-ray down` to start it otherwise"
            if name in _CREW_NUMBERS:
                how = "`hindsight-ray scale` changes it"
            raise InvalidSettings(
                f"`{name}` is {running!r} in the running deployment, not {value!r}; {how}",
                setting=name,
            )


def _plan(path: Path, settings: Settings, tie: Attached) -> Plan:
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
