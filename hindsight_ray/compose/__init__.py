"""Which adapter stands behind which port: the one place that knows.

`open` makes everything in this process (`embedded.py`); `connect` starts or joins a deployment on
Ray (`on_ray.py`). Ray is imported when `connect`, `up`, `down` or `status` is called and not
before; a model when the first text is embedded.
"""

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hindsight_ray.client import hindsight, sync
from hindsight_ray.client.hindsight import Hindsight
from hindsight_ray.client.opening import Opening
from hindsight_ray.client.sync import Synchronous
from hindsight_ray.compose import copies, keys
from hindsight_ray.compose.embedded import connection

if TYPE_CHECKING:
    from hindsight_ray.actors.plan import Deployed


def open(home: str | Path, **settings: object) -> Opening[Hindsight]:  # noqa: A001 - the public name
    """The memory kept in the folder `home`, all of it in this process.

    The folder is made if it is not there. Several processes may share one. Raises `HomeInUse` if
    a deployment owns it, `InvalidSettings`, `HomeInvalid`, `SpaceMismatch`.
    """
    # On the client's own loop: what a store opens there belongs to it.
    return hindsight.opening(lambda loop: loop.run(connection(Path(home), settings)))


def open_sync(home: str | Path, **settings: object) -> Synchronous:
    """`open` without `await`."""
    return sync.opened(lambda _loop: connection(Path(home), settings))


def connect(
    address: str | None = None, home: str | Path | None = None, **settings: object
) -> Opening[Hindsight]:
    """The memory of a deployment on Ray, which is started if there is none.

    Inside an actor or task this finds the deployment of the same cluster and costs no process.
    Without an address it joins the deployment that holds `home` (by default `./memory`), or starts
    a cluster on this machine that ends when the client is closed. Raises `HomeInUse` if the home is
    open in an embedded process, `InvalidSettings` for what contradicts a running deployment,
    `Unavailable` if nothing answers at the address.
    """
    return hindsight.opening(lambda _loop: _on_ray().connection(address, _path(home), settings))


def connect_sync(
    address: str | None = None, home: str | Path | None = None, **settings: object
) -> Synchronous:
    """`connect` without `await`."""
    return sync.opened(lambda _loop: _on_ray().connection(address, _path(home), settings))


def joined(address: str, home: str | Path | None = None) -> Opening[Hindsight]:
    """`connect` to the deployment at this address, where none is started: `Unavailable` if none is
    there."""
    return hindsight.opening(lambda _loop: _on_ray().joined(address, _path(home)))


def part() -> None:
    """Leave the cluster that this process has joined, if any. Left to its end, Ray takes longer."""
    if "hindsight_ray.actors.cluster" in sys.modules:
        sys.modules["hindsight_ray.actors.cluster"].leave()


async def up(home: str | Path, *, address: str | None = None, **settings: object) -> "Deployed":
    """Start a deployment over `home` that outlives this process, or return the one that runs.

    Its cluster listens on loopback alone, unless `address` names one that is there. Raises
    `InvalidSettings` for what contradicts the one that runs. Ended by `down`.
    """
    return await _on_ray().up(address, _path(home), settings)


async def status(
    address: str | None = None, home: str | Path | None = None, *, starting: bool = False
) -> "Deployed | None":
    """The deployment with its actors' process ids, or None if there is none. Starts nothing.

    Actors that do not answer within seconds are told as such; while `starting`, they have 90 s.
    """
    return await _on_ray().status(address, _path(home), starting=starting)


async def scale(
    address: str | None = None,
    home: str | Path | None = None,
    *,
    brokers: int | None = None,
    recorder_hosts: int | None = None,
    reviewers: int | None = None,
) -> "Deployed":
    """Have so many actors of each role in the running deployment, which goes on meanwhile."""
    return await _on_ray().scale(
        address, _path(home), brokers=brokers, recorder_hosts=recorder_hosts, reviewers=reviewers
    )


def metrics() -> str:
    """What this process has counted at the doors of its homes, in Prometheus's text format.

    A deployment's numbers are exported by Ray, from every node.
    """
    return importlib.import_module("hindsight_ray.adapters.watching").PLAIN.text()


async def backup(home: str | Path, folder: str | Path) -> Mapping[str, int]:
    """Copy the whole memory of `home` into a new folder, while it is in use; rows of each kind."""
    return await copies.backup(_absolute(home), _absolute(folder))


async def restore(folder: str | Path, home: str | Path, **settings: object) -> Mapping[str, int]:
    """Put a copy back into a new home, on the ledger and the store that the settings name."""
    return await copies.restore(_absolute(folder), _absolute(home), settings)


async def rotate_key(home: str | Path) -> tuple[str, str]:
    """Sign tickets of `home` with a new key from now on; the `kid` before and the new one."""
    return await keys.rotate(_absolute(home))


async def retire_key(home: str | Path, kid: str) -> None:
    """Refuse every ticket that an old key of `home` has signed, in every process, from now on."""
    await keys.retire(_absolute(home), kid)


async def down(address: str | None = None, home: str | Path | None = None) -> bool:
    """Drain and end the deployment, and its cluster if `up` started it. False if there is none."""
    return await _on_ray().down(address, _path(home))


def _on_ray() -> Any:
    return importlib.import_module("hindsight_ray.compose.on_ray")


def _path(home: str | Path | None) -> Path | None:
    return None if home is None else _absolute(home)


def _absolute(path: str | Path) -> Path:
    return Path(path).expanduser().absolute()
