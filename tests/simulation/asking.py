"""A process over a home that others use too: it reads, or shares and revokes, and says when.

    python -m tests.simulation.asking HOME TOKEN reads|changes COUNT

Prints one JSON line for each call. A reader goes on until the file `done` is in the home.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

from hindsight_ray.domain import commands as c
from hindsight_ray.domain.answer import Found
from hindsight_ray.domain.base import build
from hindsight_ray.domain.receipt import Grant
from hindsight_ray.domain.settings import Settings
from tests.worlds import Staged, world


async def _reads(home: Staged, token: str) -> None:
    done = home.path / "done"
    while not done.exists():
        begin = time.monotonic_ns()
        found = await home.ask(token, c.Search(query="harbour lantern"))
        end = time.monotonic_ns()
        assert isinstance(found, Found)
        _say(begin, end, found.revision, shown=bool(found.hits))


async def _changes(home: Staged, token: str, count: int) -> None:
    for number in range(count):
        kind = c.Revoke if number % 2 else c.Share
        fields = {"command_id": f"{kind.__name__}{number}", "scope": "user:alice"}
        command = build(kind, fields | {"to": "agent:helper", "actions": ("read",)})
        begin = time.monotonic_ns()
        grant = await home.ask(token, command)
        end = time.monotonic_ns()
        assert isinstance(grant, Grant)
        _say(begin, end, grant.revision, changed="revoked" if number % 2 else "shared")
    (home.path / "done").touch()


def _say(begin: int, end: int, revision: int, **fields: object) -> None:
    told = {"begin": begin, "end": end, "revision": revision, **fields}
    sys.stdout.write(json.dumps(told) + "\n")


async def _main(folder: str, token: str, kind: str, count: str) -> None:
    settings = Settings(lock_wait_s=60.0)
    async with world(Path(folder), policy=None, settings=settings) as home:
        if kind == "reads":
            await _reads(home, token)
        else:
            await _changes(home, token, int(count))


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
