"""Would a command that begins a memory or a tenant be refused? It is tried where nothing is kept.

What is refused begins nothing, and whatever has been begun cannot be taken back: somebody else may
use it by then. So the command goes first to a memory that is thrown away, under the policy that it
will meet, without the texts that it brings: they are in no file but those of the home.
"""

import pathlib
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

from hindsight_ray import compose
from hindsight_ray.client.hindsight import Hindsight
from hindsight_ray.domain import commands as c
from hindsight_ray.entry.cli.places import begun

_IN_ITS_PLACE: Mapping[type[c.Command], Mapping[str, object]] = {
    c.Write: {
        "content": "Something", "topic": None, "steps": (), "tags": (), "project": None,
        "scene": None,
    },
    c.ImportRuns: {"text": "[]"},
}  # fmt: skip
_CHEAP = {"ledger": "sqlite", "store": "embedded", "embedding": "hashed"}


def without_texts(command: c.Command) -> c.Command:
    """The command as it is tried."""
    return command.model_copy(update=dict(_IN_ITS_PLACE.get(type(command), {})))


@asynccontextmanager
async def thrown_away(tenant: str, like: Hindsight | None) -> AsyncGenerator[Hindsight]:
    """A memory with nothing in it, under the policy of the one that it is like, or of a new one."""
    given = dict(_CHEAP) if like is None else {**_CHEAP, "policy": like.settings.policy}
    with tempfile.TemporaryDirectory(prefix="hindsight-") as folder:
        async with compose.open(pathlib.Path(folder) / "memory", **given) as tried:
            text = None if like is None else await _policy_of(like)
            if text is not None:
                await tried.operator(tenant).ask(c.LoadPolicy(text=text))
            yield tried


async def _policy_of(hindsight: Hindsight) -> str | None:
    """What is in force, as one of its tenants is told; None while it is what it began with."""
    tenants = begun(await hindsight.tenants())
    return (await hindsight.operator(tenants[0]).policy_in_force()).text if tenants else None
