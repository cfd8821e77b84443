"""A deployment on Ray: how it is started, looked at and ended, and how a client comes to it.

Imported by `compose` when a deployment is asked for, since Ray takes a second to import.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from hindsight_ray.actors import cluster, deployment
from hindsight_ray.actors.cluster import Attached
from hindsight_ray.actors.plan import Deployed
from hindsight_ray.actors.presence import Presence
from hindsight_ray.actors.tasks import RayTasks
from hindsight_ray.actors.transport import RayTransport
from hindsight_ray.adapters.clock import SystemClock, SystemIds
from hindsight_ray.adapters.home import deployment_address, forget_deployment
from hindsight_ray.adapters.ledger.sql import SqlLedger
from hindsight_ray.adapters.ledger.sql.server import Server
from hindsight_ray.adapters.policy.operator import (
    OPERATOR,
    OperatorTickets,
    holds_operator_key,
)
from hindsight_ray.adapters.policy.tickets import load_signer
from hindsight_ray.adapters.starting import Head, forget_head, note_head, noted_head, starting
from hindsight_ray.client.transport import Connection
from hindsight_ray.compose.crew_worlds import plan_of
from hindsight_ray.compose.embedded import (
    FILE_LEDGER,
    check_store,
    database_of,
    embedder_of,
    home_default,
    settings_of,
    store_of,
)
from hindsight_ray.domain.base import build
from hindsight_ray.domain.caller import TicketRequest
from hindsight_ray.domain.commands import IssueTicket
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import InvalidSettings, Unavailable
from hindsight_ray.ports import Clock
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


async def joined(address: str, home: Path | None) -> Connection:
    """The way to the deployment at this address. Starts none: raises `Unavailable`."""
    return await _through(cluster.attach(address), home, {}, begin=False)


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
        settings = await _looked_at(path, given)
        await _end(running, path)
        if running is not None:
            running.leave()
        return await _up_here(path, settings)


async def _up_there(tie: Attached, home: Path | None, given: Mapping[str, object]) -> Deployed:
    """In a cluster that runs: the deployment that there is, put in order, or a new one."""
    if await deployment.half_ended():
        await _looked_at(home or home_default(), given)
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
        await deployment.bring_up(plan_of(path, settings, tie))
        return await _watched(address, wait_s=_CREW_WAIT_S)
    except BaseException:
        cluster.leave()
        with suppress(Unavailable):  # what went wrong first is what is told
            await _end_head(path, head)
        raise


async def _looked_at(path: Path, given: Mapping[str, object]) -> Settings:
    """The settings in force; what they name is refused before anything is started for it.

    Raises `Unavailable` for a server that cannot be used from here.
    """
    settings = load_settings(path, given)
    store = store_of(settings, embedder_of(settings).space)
    ledger = database_of(path, settings)
    if isinstance(ledger, Server):
        await SqlLedger.is_begun(ledger)
    try:
        await check_store(store, settings)
    finally:
        await store.close()
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
        found = None
        with suppress(Unavailable):  # it is ended, whether it can say of which home it is or not
            found = await deployment.find()
        return await _end(tie, home if found is None else Path(found.home))
    path = home or home_default()
    head = noted_head(path)
    if deployment_address(path) is None and head is None:
        return False
    async with starting(path):
        if head is not None and cluster.hangs(head.address):
            return await _end(None, path)
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
    if tie.address != address or deployment.is_there():
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


def _begun(address: str, home: Path | None, *, begin: bool) -> Path:
    """The home of the deployment that is to be started at this address, if one may be."""
    if not begin:
        raise _none_at(address)
    return home or home_default()


def _none_at(address: str) -> Unavailable:
    return Unavailable(f"there is no deployment at {address!r}; `hindsight-ray up` starts one")


async def _through(
    tie: Attached, home: Path | None, given: Mapping[str, object], *, begin: bool = True
) -> Connection:
    """The connection over this cluster's deployment, which is started if there is none."""
    deployed = await _joined(tie, home, given, begin=begin)

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


async def _joined(
    tie: Attached, home: Path | None, given: Mapping[str, object], *, begin: bool = True
) -> Deployed:
    """This cluster's deployment, in order, which is started if there is none."""
    try:
        deployed = await deployment.join()
        if deployed is None:
            path = _begun(tie.address, home, begin=begin)
            deployed = await deployment.bring_up(plan_of(path, await _looked_at(path, given), tie))
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
