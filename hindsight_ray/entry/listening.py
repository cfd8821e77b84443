"""Serve an application over HTTP on the loopback address, and on no other.

Whoever connects and then says nothing, or never ends what it says, is hung up on, and there are
never so many connections that the process has no files left for its ledger. A server that is to end
waits for what it is answering, but not for long.
"""

import asyncio
import contextlib
import resource
import socket
from collections.abc import AsyncGenerator

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from hindsight_ray.errors import Unavailable

REQUEST_BYTES_MAX = 1024 * 1024
HEADERS_WITHIN_S = 10.0  # of a connection's start, or of the first byte of a further request
BODY_WITHIN_S = 40.0  # of its head; a door that reads it itself may say so sooner
_END_WITHIN_S = 10
_CONNECTIONS_MAX = 4_096
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
HOSTS = (*_LOOPBACK, *(f"{host}:*" for host in _LOOPBACK))
ORIGINS = tuple(f"http://{host}{port}" for host in _LOOPBACK for port in ("", ":*"))


@contextlib.asynccontextmanager
async def listening(port: int) -> AsyncGenerator[socket.socket]:
    """A socket on the loopback address; port 0 takes a free one. Raises `Unavailable`."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    with contextlib.closing(listener):
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
            listener.listen()  # from here on a request waits until it is served
        except OSError as error:
            raise Unavailable(f"`--port` {port} cannot be used: {error.strerror}") from None
        yield listener


def http_server(
    app: ASGIApp,
    *,
    headers_within_s: float = HEADERS_WITHIN_S,
    body_within_s: float = BODY_WITHIN_S,
    connections_max: int | None = None,
) -> uvicorn.Server:
    """What serves the application: `await server.serve(sockets=[listener])`, until interrupted."""
    limit = _half_of_the_files() if connections_max is None else connections_max

    class Bounded(_Impatient):
        head_s = headers_within_s
        body_s = body_within_s
        at_once = limit

    config = uvicorn.Config(
        app, http=Bounded, ws="none", log_level="warning", access_log=False, server_header=False,
        timeout_graceful_shutdown=_END_WITHIN_S,
    )  # fmt: skip
    return uvicorn.Server(config)


def _half_of_the_files() -> int:
    """Half of the files that this process may open, for connections; the rest for all else."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _CONNECTIONS_MAX if soft < 0 else max(1, min(_CONNECTIONS_MAX, soft // 2))


class _Impatient(H11Protocol):
    """One connection, which ends if no whole request arrives in time."""

    head_s: float
    body_s: float
    at_once: int
    _late: asyncio.TimerHandle | None = None
    _awaited: str | None = None  # what of a request is to arrive in time, if anything

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.at_once:
            transport.abort()
        else:
            self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._rest()

    def _watch(self) -> None:
        awaited = self._arriving()
        if awaited != self._awaited:
            self._rest()
            self._awaited = awaited
            if awaited is not None:
                within_s = self.head_s if awaited == "head" else self.body_s
                self._late = self.loop.call_later(within_s, self.transport.abort)

    def _arriving(self) -> str | None:
        if not self.cycle or self.cycle.response_complete:  # no cycle until the first head is there
            return "head"
        return "body" if self.conn.their_state is h11.SEND_BODY else None

    def _rest(self) -> None:
        self._awaited = None
        if self._late is not None:
            self._late.cancel()
            self._late = None
