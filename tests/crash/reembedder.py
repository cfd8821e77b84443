"""A process that changes a home's embedding model slice by slice, saying how far it has come.

Run as `python -m tests.crash.reembedder HOME`; each line is the state after a slice that was kept.
"""

import asyncio
import sys
from pathlib import Path

import hindsight_ray as hr
from hindsight_ray.domain import commands as c


async def change(home: Path) -> None:
    async with hr.open(home) as hindsight:
        memory = hindsight.operator("acme")
        step = c.Reembed(model="static", slice=3, sample=5)
        while True:
            done = await memory.ask(step)
            sys.stdout.write(f"{done.state} {done.embedded}\n")
            sys.stdout.flush()
            if done.state == "done":
                return


if __name__ == "__main__":
    asyncio.run(change(Path(sys.argv[1])))
