"""A network that can be cut: what passes through it stands still, and every socket stays open."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

_CHUNK = 1 << 16


class Network:
    """Forwards connections on loopback to a server, for as long as it is whole."""

    def __init__(self, host: str, port: int) -> None:
        self._to = (host, port)
        self._whole = asyncio.Event()
        self._whole.set()
        self.port = 0
        self.held_up = asyncio.Event()  # something came while it was cut

    def cut(self) -> None:
        self.held_up.clear()
        self._whole.clear()

    def heal(self) -> None:
        self._whole.set()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, from the first byte to the last."""
        with suppress(OSError):
            await self._whole.wait()
            there, back = await asyncio.open_connection(*self._to)
            await asyncio.gather(self._pump(reader, back), self._pump(there, writer))

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(_CHUNK):
                if not self._whole.is_set():
                    self.held_up.set()
                    await self._whole.wait()
                writer.write(data)
                await writer.drain()
        finally:
            writer.close()


@asynccontextmanager
async def network(host: str, port: int) -> AsyncGenerator[Network]:
    """A network to this server, on a port of its own."""
    made = Network(host, port)
    carried: set[asyncio.Task[None]] = set()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(made.carry(reader, writer))
        carried.add(task)
        task.add_done_callback(carried.discard)

    server = await asyncio.start_server(begin, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        for task in carried:
            task.cancel()
        await asyncio.gather(*carried, return_exceptions=True)
