"""A Weaviate of a group's own, for as long as its figures are measured."""

import asyncio
import pathlib
import tempfile
from collections.abc import Awaitable, Callable
from typing import Any

from tests.servers import weaviate

Figures = list[dict[str, Any]]


def measured(measure: Callable[[pathlib.Path, weaviate.Weaviate], Awaitable[Figures]]) -> Figures:
    """What is measured in a folder and on a server that both go afterwards."""

    async def main(folder: pathlib.Path, running: weaviate.Weaviate) -> Figures:
        return await measure(folder, running)

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        running = weaviate.start(folder / "weaviate")
        try:
            return asyncio.run(main(folder, running))
        finally:
            running.process.stop()
